#include "vocabulary.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "error.h"
#include "hash.h"

namespace labelwood {
namespace {

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

int64_t Vocabulary::find(const uint8_t* p, size_t n) const {
  const uint64_t hash = term_hash(p, n), mask = slots.size() - 1;
  for (uint64_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const uint32_t id = slots[slot];
    if (id == kEmpty) return -1;
    const int64_t begin = offsets[id];
    if (static_cast<size_t>(offsets[id + 1] - begin) == n && same_bytes(bytes.data() + begin, p, n)) return id;
  }
}

Buffer<uint32_t> make_slots(std::span<const uint8_t> bytes, std::span<const int64_t> offsets) {
  const int64_t n_terms = static_cast<int64_t>(offsets.size()) - 1;
  if (n_terms > kMaxTerms) throw Error(kTooMany);
  Buffer<uint32_t> slots(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(2 * n_terms, 2))), Vocabulary::kEmpty);
  const uint64_t mask = slots.size() - 1;
  for (int64_t i = 0; i < n_terms; ++i) {
    uint64_t slot = term_hash(bytes.data() + offsets[i], offsets[i + 1] - offsets[i]) & mask;
    while (slots[slot] != Vocabulary::kEmpty) slot = (slot + 1) & mask;
    slots[slot] = static_cast<uint32_t>(i);
  }
  return slots;
}

void check_shape(const Vocabulary& v) {
  if (v.offsets.empty()) refuse("it has no offsets");
  if (!std::has_single_bit(v.slots.size()) || v.slots.size() < 2 || static_cast<int64_t>(v.slots.size() / 2) < v.size())
    refuse("its hash table has the wrong size");
}

void check_contents(const Vocabulary& v) {
  check_shape(v);
  if (v.size() > kMaxTerms) refuse("it has too many terms");
  if (v.offsets.front() != 0 || v.offsets.back() != static_cast<int64_t>(v.bytes.size()))
    refuse("its offsets do not match its bytes");
  for (int64_t i = 0; i < v.size(); ++i)
    if (v.offsets[i] > v.offsets[i + 1]) refuse("its offsets decrease");
  for (int64_t i = 0; i + 1 < v.size(); ++i)
    if (v.term(i) >= v.term(i + 1)) refuse("its terms are not in order");
  int64_t taken = 0;
  for (uint32_t id : v.slots) {
    if (id == Vocabulary::kEmpty) continue;
    if (static_cast<int64_t>(id) >= v.size()) refuse("its hash table names a term that is not there");
    ++taken;
  }
  // As many ids as terms leave half of the slots empty, so that every search ends.
  if (taken != v.size()) refuse("its hash table does not hold each term once");
  for (int64_t i = 0; i < v.size(); ++i)
    if (v.find(v.bytes.data() + v.offsets[i], v.offsets[i + 1] - v.offsets[i]) != i) refuse("a term cannot be found");
}

TermTable::TermTable() : slots_(1024, Slot{0, Vocabulary::kEmpty}) {}

int64_t TermTable::find(const TermKey& key, const uint8_t* p, size_t n) {
  const uint32_t hash = short_hash(key);
  const uint64_t mask = slots_.size() - 1;
  for (uint64_t slot = place_of(hash);; slot = (slot + 1) & mask) {
    Slot& found = slots_[slot];
    if (found.id == Vocabulary::kEmpty) {
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
  std::vector<Slot> old(slots_.size() * 2, Slot{0, Vocabulary::kEmpty});
  old.swap(slots_);
  const uint64_t mask = slots_.size() - 1;
  for (const Slot& moved : old) {
    if (moved.id == Vocabulary::kEmpty) continue;
    uint64_t slot = place_of(moved.hash);
    while (slots_[slot].id != Vocabulary::kEmpty) slot = (slot + 1) & mask;
    slots_[slot] = moved;
  }
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

}  // namespace labelwood
