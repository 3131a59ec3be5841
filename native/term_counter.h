// Finds the different ones of some terms and counts them, before anything is known of the terms but their bytes: most
// words of a text occur again in it, and only the different ones must then be looked up in large tables.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "analyzer.h"
#include "term_key.h"

namespace labelwood {

class TermCounter {
 public:
  static constexpr size_t kMost = 2048;  // terms at once; all that is kept of them stays in near memory

  // The numbers of the terms that are none of those before them, ascending; count(i) and key(i) are known of these.
  //
  // The processor cannot predict whether a term is new, so no branch depends on it. All terms write their number to
  // their slot, last to first, and then find there the first that has this slot: nearly always the same term. The
  // others look once more, for different slots.
  std::span<const uint16_t> count(const uint8_t* bytes, std::span<const Analyzer::Term> terms) {
    const int shift = 63 - std::bit_width(2 * terms.size());
    for (size_t i = terms.size(); i-- > 0;) {
      keys_[i] = TermKey::of(bytes + terms[i].begin, terms[i].size);
      counts_[i] = 0;
      slots_[keys_[i].hash >> shift] = static_cast<uint16_t>(i);
    }
    size_t n_left = 0;
    for (size_t i = 0; i < terms.size(); ++i) n_left += !join(bytes, terms, i, slots_[keys_[i].hash >> shift], n_left);
    for (int turn = 1; n_left > 0; ++turn) {
      const auto slot_of = [&](size_t i) -> uint16_t& { return slots_[std::rotl(keys_[i].hash, 12 * turn) >> shift]; };
      for (size_t j = n_left; j-- > 0;) slot_of(numbers_[j]) = numbers_[j];
      const size_t n = std::exchange(n_left, 0);
      for (size_t j = 0; j < n; ++j) n_left += !join(bytes, terms, numbers_[j], slot_of(numbers_[j]), n_left);
    }
    return different(terms.size());
  }

  const TermKey& key(uint16_t i) const { return keys_[i]; }
  uint32_t count(uint16_t i) const { return counts_[i]; }

 private:
  // Counts term i where `first` is the same term, and notes it where not.
  bool join(const uint8_t* bytes, std::span<const Analyzer::Term> terms, size_t i, uint16_t first, size_t n_left) {
    const TermKey &a = keys_[i], &b = keys_[first];
    bool same = ((a.first ^ b.first) | (a.hash ^ b.hash) | (terms[i].size ^ terms[first].size)) == 0;
    if (terms[i].size > TermKey::kWhole) [[unlikely]]
      same = same && same_bytes(bytes + terms[i].begin, bytes + terms[first].begin, terms[i].size);
    counts_[first] += same;
    numbers_[n_left] = static_cast<uint16_t>(i);
    return same;
  }

  std::span<const uint16_t> different(size_t n_terms) {
    size_t n = 0;
    for (size_t i = 0; i < n_terms; ++i) {
      numbers_[n] = static_cast<uint16_t>(i);
      n += counts_[i] != 0;
    }
    return {numbers_.data(), n};
  }

  std::array<TermKey, kMost> keys_;
  std::array<uint32_t, kMost> counts_;
  std::array<uint16_t, kMost> numbers_;
  std::array<uint16_t, 8 * kMost> slots_;  // numbers by the high bits of hashes
};

}  // namespace labelwood
