// Two numbers that stand for a term in our tables: terms of one length up to sixteen bytes are equal where these are.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "hash.h"

namespace labelwood {

struct TermKey {
  static constexpr size_t kWhole = 16;  // longer terms may have the same key

  uint64_t first;  // the first eight bytes, or all there are
  uint64_t hash;   // of all bytes

  // Of n bytes, where at least eight can be read. No branch depends on the length of a short term: the processor could
  // not predict it.
  static TermKey of(const uint8_t* p, size_t n) {
    const size_t beyond = std::max<size_t>(n, 8) - 8;
    const uint64_t kept = kKept[n - beyond];
    const uint64_t first = hashing::load<uint64_t>(p) & kept, last = hashing::load<uint64_t>(p + beyond) & kept;
    uint64_t hash = hashing::of_ends(first, last);
    if (n > kWhole) [[unlikely]] hash += hash_of_long(p, n);
    return {first, hash};
  }

  // Of a term anywhere.
  static TermKey of(std::string_view term) {
    uint8_t padded[8]{};
    const auto* p = reinterpret_cast<const uint8_t*>(term.data());
    return of(term.size() < 8 ? static_cast<const uint8_t*>(std::memcpy(padded, p, term.size())) : p, term.size());
  }

  bool operator==(const TermKey& other) const { return first == other.first && hash == other.hash; }

 private:
  static constexpr uint64_t kAll = ~uint64_t{0};
  static constexpr std::array<uint64_t, 9> kKept{0,          kAll >> 56, kAll >> 48, kAll >> 40, kAll >> 32,
                                                 kAll >> 24, kAll >> 16, kAll >> 8,  kAll};

  [[gnu::noinline]] static uint64_t hash_of_long(const uint8_t* p, size_t n) { return hashing::of_long(p, n); }
};

}  // namespace labelwood
