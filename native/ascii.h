// Sixty-four bytes of a text at once: their lower case, and which of them are parts of ASCII words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace labelwood {

struct AsciiBlock {
  static constexpr size_t kSize = 64;

  uint64_t word;  // a bit for each byte: a letter, digit or underscore
  uint64_t wide;  // no ASCII, but a part of a longer character
};

namespace ascii {

typedef uint8_t Bytes __attribute__((vector_size(16)));

// Where a byte is in [first, first + n), as a byte of ones.
inline Bytes within(Bytes bytes, uint8_t first, uint8_t n) { return reinterpret_cast<Bytes>(bytes - first < n); }

// One bit for each of sixteen bytes that are all ones or all zeros.
#if defined(__SSE2__)
inline uint64_t bits_of(Bytes bytes) {
  return static_cast<uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(bytes)));
}
#else
inline uint64_t bits_of(uint64_t eight_bytes) {
  return ((eight_bytes & 0x8040201008040201u) * 0x0101010101010101u) >> 56;
}
inline uint64_t bits_of(Bytes bytes) {
  uint64_t halves[2];
  std::memcpy(halves, &bytes, sizeof halves);
  return bits_of(halves[0]) | bits_of(halves[1]) << 8;
}
#endif

}  // namespace ascii

// Copies a block, with capitals lowered if asked for.
inline AsciiBlock copy_ascii(const uint8_t* from, uint8_t* to, bool lowercase) {
  using namespace ascii;
  const uint8_t lowered = lowercase ? 0x20 : 0;
  AsciiBlock out{0, 0};
  for (size_t i = 0; i < AsciiBlock::kSize; i += sizeof(Bytes)) {
    Bytes bytes;
    std::memcpy(&bytes, from + i, sizeof bytes);
    const Bytes word = within(bytes | 0x20, 'a', 26) | within(bytes, '0', 10) | within(bytes, '_', 1);
    out.word |= bits_of(word) << i;
    out.wide |= bits_of(within(bytes, 0x80, 0x80)) << i;
    bytes |= within(bytes, 'A', 26) & lowered;
    std::memcpy(to + i, &bytes, sizeof bytes);
  }
  return out;
}

}  // namespace labelwood
