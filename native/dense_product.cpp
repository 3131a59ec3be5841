#include "dense_product.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "parallel.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

constexpr int64_t kWidth = simd::kLanes;
constexpr int64_t kRows = 64;  // a strip stays in the cache while so many rows pass

struct alignas(64) Line {
  float of[kWidth];
};

// Columns from `first` on, filled up with zeros.
void copy_strip(const DenseView& matrix, int64_t first, int64_t width, std::vector<Line>& strip) {
  for (int64_t f = 0; f < matrix.n_rows; ++f) std::memcpy(strip[f].of, matrix.row(f) + first, width * sizeof(float));
  for (int64_t f = 0; f < matrix.n_rows; ++f) std::fill(strip[f].of + width, strip[f].of + kWidth, 0.0f);
}

}  // namespace

Buffer<float> dense_product(const DenseView& X, const DenseView& matrix, int n_threads) {
  const int64_t n_out = matrix.n_cols;
  Buffer<float> out(X.n_rows * n_out);
  parallel_for((n_out + kWidth - 1) / kWidth, 8, n_threads, [&](int64_t begin, int64_t end, int) {
    std::vector<Line> strip(std::max<int64_t>(matrix.n_rows, 1)), products(kRows);
    for (int64_t first = begin * kWidth; first < std::min(end * kWidth, n_out); first += kWidth) {
      const int64_t width = std::min(kWidth, n_out - first);
      copy_strip(matrix, first, width, strip);
      for (int64_t row = 0; row < X.n_rows; row += kRows) {
        const int64_t n = std::min(kRows, X.n_rows - row);
        simd::kernels().strip_products(
            {X.row(row), static_cast<size_t>(n), static_cast<size_t>(X.n_cols), strip.data()->of}, products.data()->of);
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(out.data() + (row + i) * n_out + first, products[i].of, width * sizeof(float));
      }
    }
  });
  return out;
}

}  // namespace labelwood
