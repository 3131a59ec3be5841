// Terms and their ids: a table that grows while texts are read, and one of plain arrays that a model keeps.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "buffer.h"
#include "term_key.h"

namespace labelwood {

inline std::string_view as_view(const uint8_t* p, size_t n) { return {reinterpret_cast<const char*>(p), n}; }

// A finished vocabulary in someone's arrays. Term i is bytes[offsets[i], offsets[i + 1]).
struct Vocabulary {
  std::span<const uint8_t> bytes;
  std::span<const int64_t> offsets;  // n_terms + 1

  int64_t size() const { return offsets.empty() ? 0 : static_cast<int64_t>(offsets.size()) - 1; }
  std::string_view term(int64_t i) const { return as_view(bytes.data() + offsets[i], offsets[i + 1] - offsets[i]); }
};

// Terms in arrays of their own.
struct Terms {
  Buffer<uint8_t> bytes;
  Buffer<int64_t> offsets;
};

// The terms named by `ids`, one after the other. A source is anything with term(i).
template <class Source, class Id>
Terms copy_terms(const Source& source, std::span<const Id> ids) {
  Terms out{{}, Buffer<int64_t>(ids.size() + 1)};
  out.offsets[0] = 0;
  for (size_t i = 0; i < ids.size(); ++i) out.offsets[i + 1] = out.offsets[i] + source.term(ids[i]).size();
  out.bytes = Buffer<uint8_t>(out.offsets[ids.size()]);
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view term = source.term(ids[i]);
    std::copy(term.begin(), term.end(), out.bytes.data() + out.offsets[i]);
  }
  return out;
}

// Checks what an index of it relies on, for arrays that come from a file: ascending terms inside the bytes.
void check_contents(const Vocabulary& vocabulary);

// A vocabulary that gives new terms the next id.
class TermTable {
 public:
  TermTable();
  // The id of the term of n bytes with this key, which it now has if it had none.
  int64_t find(const TermKey& key, const uint8_t* p, size_t n);
  void prefetch(const TermKey& key) const { __builtin_prefetch(&slots_[place_of(short_hash(key))]); }
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  std::string_view term(int64_t i) const { return as_view(bytes_.data() + offsets_[i], offsets_[i + 1] - offsets_[i]); }

  // Ids in the order of the terms' bytes, which is the order of their code points.
  std::vector<uint32_t> sorted_ids() const;

  // How many taken slots look-ups of all terms pass over before they find theirs.
  int64_t detours() const;

 private:
  struct Slot {
    uint32_t hash;  // high half, so that growing and most comparisons need not look at the term
    uint32_t id;
  };

  static uint32_t short_hash(const TermKey& key) { return static_cast<uint32_t>(key.hash >> 32); }
  uint64_t place_of(uint32_t hash) const { return hash >> (32 - std::countr_zero(slots_.size())); }
  uint32_t append(const uint8_t* p, size_t n);
  void grow();

  std::vector<uint8_t> bytes_;
  std::vector<int64_t> offsets_{0};
  std::vector<Slot> slots_;
};

// A number for each string, in order of first occurrence, and where the string of each number occurs first.
struct NumberedStrings {
  Buffer<int32_t> numbers;
  Buffer<int64_t> firsts;
};

// Of any strings, not of ascending ones only.
NumberedStrings number_strings(const Vocabulary& strings);

}  // namespace labelwood
