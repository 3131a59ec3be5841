// What the tokeniser must know about each code point, and UTF-8 in and out.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace labelwood {

struct CharInfo {
  uint32_t lower;  // the single code point it becomes in lower case
  bool word;       // a letter, digit or underscore: \w
  bool space;      // \s
};

// All code points in two levels: pages of 256 entries, equal pages stored once. Case is kept as a distance, so that
// the many pages without case or with regular case are equal.
class UnicodeTable {
 public:
  static constexpr uint32_t kEnd = 0x110000;

  // Asks `describe` about every code point once.
  explicit UnicodeTable(const std::function<CharInfo(uint32_t)>& describe);

  CharInfo operator[](uint32_t point) const {
    const int32_t entry = entries_[pages_[point >> 8] * 256u + (point & 255u)];
    return {point + static_cast<uint32_t>(entry >> 2), (entry & 1) != 0, (entry & 2) != 0};
  }

 private:
  std::array<uint16_t, (kEnd >> 8)> pages_;
  std::vector<int32_t> entries_;  // distance to lower case * 4 + space * 2 + word
};

// Reads one code point and moves `at` behind it. Never reads beyond `end`: a sequence that is cut off or cannot be
// UTF-8 counts as one replacement character per byte.
uint32_t read_utf8(const uint8_t*& at, const uint8_t* end);

// Writes one code point (at most four bytes) and returns the place behind it.
uint8_t* write_utf8(uint32_t point, uint8_t* out);

}  // namespace labelwood
