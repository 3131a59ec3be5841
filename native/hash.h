// Hashes of bytes and numbers, and equality of bytes. `murmur3_32` is part of saved models: never change what it
// returns. All others depend on secrets of the process and lead to places in tables only: no result may depend on them.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace labelwood {

static_assert(std::endian::native == std::endian::little, "buckets of saved models are little-endian");

namespace hashing {

// Drawn from the system once a process. Who writes a text or a model does not know them, and therefore cannot choose
// terms that crowd one place of a table.
struct Secrets {
  uint64_t first, second, rest, odd;
};
extern const Secrets secrets;

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

// Both halves of the product: every bit of the result depends on all bits of both numbers.
inline uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The hash of a term by its first and last eight bytes; its high bits are the better ones. The factor is odd: for given
// first bytes no two hashes are the same.
inline uint64_t of_ends(uint64_t first, uint64_t last) {
  return fold(first ^ secrets.first, secrets.second) + last * secrets.odd;
}

// Of all of more than sixteen bytes, sixteen a step.
inline uint64_t of_long(const uint8_t* p, size_t n) {
  const uint8_t* const last = p + n - 16;
  uint64_t hash = secrets.rest ^ n;
  for (; p < last; p += 16) hash = fold(load<uint64_t>(p) ^ hash, load<uint64_t>(p + 8) ^ secrets.rest);
  return fold(load<uint64_t>(last) ^ hash, load<uint64_t>(last + 8) ^ secrets.rest);
}

// Of an id.
inline uint32_t of_id(uint32_t id) { return static_cast<uint32_t>(id * secrets.odd >> 32); }

}  // namespace hashing

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
