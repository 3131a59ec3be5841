#include "vocabulary.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "error.h"
#include "hash.h"
#include "parallel.h"

namespace labelwood {
namespace {

constexpr uint32_t kEmpty = 0xFFFFFFFFu;
constexpr int64_t kMaxTerms = std::numeric_limits<int32_t>::max();
constexpr const char* kTooMany = "the texts have more than 2147483647 different terms: use n_buckets";
constexpr const char* kDamaged = "the model's vocabulary is damaged (";

[[noreturn]] void refuse(const char* what) { throw Error(std::string(kDamaged) + what + "): save the model again"); }

// The first eight bytes as a number that sorts as they do.
uint64_t sort_key(std::string_view term) {
  uint64_t key = 0;
  const size_t n = std::min<size_t>(term.size(), 8);
  for (size_t i = 0; i < 8; ++i) key = key << 8 | (i < n ? static_cast<uint8_t>(term[i]) : 0);
  return key;
}

}  // namespace

void check_contents(const Vocabulary& v) {
  if (v.offsets.empty()) refuse("it has no offsets");
  if (v.size() > kMaxTerms) refuse("it has too many terms");
  if (v.offsets.front() != 0 || v.offsets.back() != static_cast<int64_t>(v.bytes.size()))
    refuse("its offsets do not match its bytes");
  for (int64_t i = 0; i < v.size(); ++i)
    if (v.offsets[i] > v.offsets[i + 1]) refuse("its offsets decrease");
  for (int64_t i = 0; i + 1 < v.size(); ++i)
    if (v.term(i) >= v.term(i + 1)) refuse("its terms are not in order");
}

TermTable::TermTable() : slots_(1024, Slot{0, kEmpty}) {}

int64_t TermTable::find(const TermKey& key, const uint8_t* p, size_t n) {
  const uint32_t hash = short_hash(key);
  const uint64_t mask = slots_.size() - 1;
  for (uint64_t slot = place_of(hash);; slot = (slot + 1) & mask) {
    Slot& found = slots_[slot];
    if (found.id == kEmpty) {
      const uint32_t id = append(p, n);
      found = {hash, id};
      if (2 * offsets_.size() > slots_.size()) grow();
      return id;
    }
    if (found.hash != hash) continue;
    const int64_t begin = offsets_[found.id], size = offsets_[found.id + 1] - begin;
    if (size == static_cast<int64_t>(n) && same_bytes(bytes_.data() + begin, p, n)) return found.id;
  }
}

uint32_t TermTable::append(const uint8_t* p, size_t n) {
  if (size() >= kMaxTerms) throw Error(kTooMany);
  bytes_.insert(bytes_.end(), p, p + n);
  offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  return static_cast<uint32_t>(size() - 1);
}

void TermTable::grow() {
  std::vector<Slot> old(slots_.size() * 2, Slot{0, kEmpty});
  old.swap(slots_);
  const uint64_t mask = slots_.size() - 1;
  for (const Slot& moved : old) {
    if (moved.id == kEmpty) continue;
    uint64_t slot = place_of(moved.hash);
    while (slots_[slot].id != kEmpty) slot = (slot + 1) & mask;
    slots_[slot] = moved;
  }
}

int64_t TermTable::detours() const {
  const uint64_t mask = slots_.size() - 1;
  uint64_t sum = 0;
  for (uint64_t at = 0; at < slots_.size(); ++at)
    if (slots_[at].id != kEmpty) sum += (at - place_of(slots_[at].hash)) & mask;
  return static_cast<int64_t>(sum);
}

std::vector<uint32_t> TermTable::sorted_ids() const {
  struct Entry {
    uint64_t key;
    uint32_t id;
  };
  std::vector<Entry> entries(size());
  for (int64_t i = 0; i < size(); ++i) entries[i] = {sort_key(term(i)), static_cast<uint32_t>(i)};
  std::sort(entries.begin(), entries.end(), [this](const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : term(a.id) < term(b.id);
  });
  std::vector<uint32_t> ids(entries.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = entries[i].id;
  return ids;
}

NumberedStrings number_strings(const Vocabulary& strings) {
  constexpr int64_t kStrings = 1 << 14;  // between two looks for an interrupt
  NumberedStrings out{Buffer<int32_t>(strings.size()), {}};
  std::vector<int64_t> firsts;
  TermTable table;
  parallel_for(strings.size(), kStrings, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const std::string_view s = strings.term(i);
      out.numbers[i] =
          static_cast<int32_t>(table.find(TermKey::of(s), reinterpret_cast<const uint8_t*>(s.data()), s.size()));
      if (out.numbers[i] == static_cast<int64_t>(firsts.size())) firsts.push_back(i);
    }
  });
  out.firsts = Buffer<int64_t>(firsts.size());
  std::copy(firsts.begin(), firsts.end(), out.firsts.data());
  return out;
}

}  // namespace labelwood
