// A dense matrix as a model keeps it: plain, or each row as codes of its parts.
#pragma once
#include <cstdint>
#include <span>

namespace labelwood {

struct StoredRows {
  static constexpr int64_t kCenters = 256;  // of each part, so that a code is a byte

  int64_t n = 0, width = 0;
  std::span<const float> plain;    // rows × width; or, if empty:
  int64_t part = 0;                // numbers of a part; the last may be shorter
  std::span<const uint8_t> codes;  // rows × parts: which center each part is near to
  std::span<const float> centers;  // parts × 256 × part
  std::span<const float> scales;   // of each row: what its centers are multiplied by

  int64_t n_parts() const { return (width + part - 1) / part; }

  // Asks for a row that will be needed soon.
  void prefetch(int64_t row) const {
    if (plain.empty()) return;
    for (int64_t i = 0; i < width; i += 16) __builtin_prefetch(plain.data() + row * width + i);
  }
  // sum += x * row.
  void add(int64_t row, float x, float* sum) const;
  float dot(int64_t row, const float* other) const;
  // sum += Σ values[j] * rows[j].
  void add(std::span<const int32_t> rows, std::span<const float> values, float* sum) const;
};

// Raises unless the sizes fit each other: what the functions above rely on.
void check_shape(const StoredRows& rows);

}  // namespace labelwood
