#include "term_index.h"

#include <algorithm>
#include <bit>

namespace labelwood {

TermIndex::TermIndex(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary),
      slots_(Buffer<Slot>::zeros(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(2 * vocabulary.size(), 2))))),
      shift_(64 - std::countr_zero(slots_.size())) {
  for (int64_t id = 0; id < size(); ++id) {
    const std::string_view term = vocabulary.term(id);
    if (term.empty()) continue;  // no text has it
    const TermKey key = TermKey::of(term);
    uint64_t at = key.hash >> shift_;
    while (slots_[at].size != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, static_cast<uint32_t>(id), static_cast<uint32_t>(term.size())};
  }
}

int64_t TermIndex::detours() const {
  uint64_t sum = 0;
  for (uint64_t at = 0; at < slots_.size(); ++at)
    if (slots_[at].size != 0) sum += (at - (slots_[at].key.hash >> shift_)) & (slots_.size() - 1);
  return static_cast<int64_t>(sum);
}

}  // namespace labelwood
