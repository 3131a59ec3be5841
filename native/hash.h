// Two hash functions over bytes, and equality. Both functions are part of saved models: never change what they return.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace labelwood {

static_assert(std::endian::native == std::endian::little, "saved hash tables are little-endian");

namespace hashing {

constexpr uint64_t kSeed = 0x2545F4914F6CDD1Du;

template <class T>
T load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Up to eight bytes as one number. Different strings of one length give different numbers.
inline uint64_t load_short(const uint8_t* p, size_t n) {
  if (n >= 4) return static_cast<uint64_t>(load<uint32_t>(p)) << 32 | load<uint32_t>(p + n - 4);
  if (n == 0) return 0;
  return static_cast<uint64_t>(p[0]) << 16 | static_cast<uint64_t>(p[n / 2]) << 8 | p[n - 1];
}

inline uint64_t stir(uint64_t x) {
  x *= 0x9FB21C651E98DF25u;
  return x ^ x >> 32;
}

}  // namespace hashing

// The hash of our own tables: eight bytes a step.
inline uint64_t term_hash(const uint8_t* p, size_t n) {
  uint64_t hash = hashing::kSeed + n;
  for (; n > 8; p += 8, n -= 8) hash = hashing::stir(hash ^ hashing::load<uint64_t>(p));
  hash = hashing::stir(hash ^ hashing::load_short(p, n));
  return hashing::stir(hash + n);
}

// Whether two terms of n bytes are equal: quicker than memcmp for the few bytes that terms have.
inline bool same_bytes(const uint8_t* a, const uint8_t* b, size_t n) {
  for (; n > 8; a += 8, b += 8, n -= 8)
    if (hashing::load<uint64_t>(a) != hashing::load<uint64_t>(b)) return false;
  return hashing::load_short(a, n) == hashing::load_short(b, n);
}

// MurmurHash3, 32 bits, seed 0: what other libraries' hashing vectorizers use, so that buckets are the same.
inline uint32_t murmur3_32(const uint8_t* p, size_t n) {
  const auto scramble = [](uint32_t k) { return std::rotl(k * 0xCC9E2D51u, 15) * 0x1B873593u; };
  uint32_t hash = 0;
  const auto length = static_cast<uint32_t>(n);
  for (; n >= 4; p += 4, n -= 4) hash = std::rotl(hash ^ scramble(hashing::load<uint32_t>(p)), 13) * 5 + 0xE6546B64u;
  uint32_t rest = 0;
  for (size_t i = n; i > 0; --i) rest = rest << 8 | p[i - 1];
  hash ^= scramble(rest) ^ length;
  hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
  return hash ^ hash >> 16;
}

}  // namespace labelwood
