// A vocabulary's terms by their keys: a term of up to sixteen bytes is found at one place in memory.
#pragma once
#include <cstdint>

#include "buffer.h"
#include "term_key.h"
#include "vocabulary.h"

namespace labelwood {

class TermIndex {
 public:
  // The vocabulary's arrays must stay where they are.
  explicit TermIndex(const Vocabulary& vocabulary);

  int64_t size() const { return vocabulary_.size(); }
  void prefetch(const TermKey& key) const { __builtin_prefetch(&slots_[key.hash >> shift_]); }

  // The id of the term of n bytes with this key, or −1.
  int64_t find(const TermKey& key, const uint8_t* p, size_t n) const {
    for (uint64_t at = key.hash >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.key == key && slot.size == n && (n <= TermKey::kWhole || is_term(slot.id, p, n))) return slot.id;
      if (slot.size == 0) return -1;
    }
  }

  // How many taken slots look-ups of all terms pass over before they find theirs.
  int64_t detours() const;

 private:
  struct Slot {
    TermKey key;
    uint32_t id, size;  // no bytes: no term is here
  };

  bool is_term(uint32_t id, const uint8_t* p, size_t n) const {
    return same_bytes(vocabulary_.bytes.data() + vocabulary_.offsets[id], p, n);
  }

  Vocabulary vocabulary_;
  Buffer<Slot> slots_;  // by the high bits of hashes, linear probing; a power of two and at most half full
  int shift_;
};

}  // namespace labelwood
