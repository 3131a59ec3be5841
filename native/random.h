// Small, fast, seeded random numbers: the same on every machine.
#pragma once
#include <cstdint>

namespace labelwood {

// A bijection of 64-bit numbers that leaves no pattern.
inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
 public:
  // Streams of different (seed, stream) pairs have nothing to do with each other.
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(mixed(seed + 0x9e3779b97f4a7c15u * mixed(stream + 1))) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    return mixed(state_);
  }

  // A number below `n`, as even as 64 bits allow.
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }

 private:
  uint64_t state_;
};

}  // namespace labelwood
