// Sparse matrices in compressed rows: a view of someone's arrays, and one that owns its own.
#pragma once
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

struct Csr {
  Buffer<int64_t> indptr;
  Buffer<int32_t> indices;
  Buffer<float> values;
  int64_t n_cols = 0;
};

}  // namespace labelwood
