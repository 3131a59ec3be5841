// Sparse matrices in compressed rows: a view of someone's arrays, and one that owns its own.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>

#include "buffer.h"

namespace labelwood {

struct CsrView {
  std::span<const int64_t> indptr;   // n_rows + 1
  std::span<const int32_t> indices;  // column of each entry
  std::span<const float> values;     // empty where every entry counts as one
  int64_t n_cols = 0;

  int64_t n_rows() const { return static_cast<int64_t>(indptr.size()) - 1; }
  std::span<const int32_t> row(int64_t i) const { return indices.subspan(indptr[i], indptr[i + 1] - indptr[i]); }
  std::span<const float> row_values(int64_t i) const { return values.subspan(indptr[i], indptr[i + 1] - indptr[i]); }
};

inline double squared_length(std::span<const float> values) {
  double sum = 0;
  for (float v : values) sum += static_cast<double>(v) * v;
  return sum;
}

// What brings a row of this squared length to unit length; a row of zeros stays as it is.
inline double unit_scale(double square) { return square > 0 ? 1 / std::sqrt(square) : 1; }

// What weights of a row are divided by, so that they sum to one or have unit length.
enum class Scaling { kMean, kUnit };
inline float scale_of(std::span<const float> values, Scaling scaling) {
  double sum = 0;
  for (float v : values) sum += std::abs(v);
  if (sum == 0) return 0;
  return static_cast<float>(scaling == Scaling::kUnit ? unit_scale(squared_length(values)) : 1 / sum);
}

struct Csr {
  Buffer<int64_t> indptr;
  Buffer<int32_t> indices;
  Buffer<float> values;
  int64_t n_cols = 0;
};

}  // namespace labelwood
