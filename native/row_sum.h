// A weighted sum of rows, and its inner products with rows. It is dense, so that a row costs no more than its entries.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "centroid.h"
#include "simd/kernels.h"
#include "sparse.h"

namespace labelwood {

class SparseRowSum {
 public:
  explicit SparseRowSum(const CsrView& X) : X_(X), sum_(X.n_cols) {}

  void add(int32_t row, float weight) { add(X_.row(row), X_.row_values(row), weight); }
  void add(std::span<const int32_t> features, std::span<const float> values, float weight) {
    for (size_t i = 0; i < features.size(); ++i) sum_[features[i]] += weight * values[i];
  }

  float dot(int32_t row) const {
    const int32_t* features = X_.indices.data() + X_.indptr[row];
    const float* values = X_.values.data() + X_.indptr[row];
    const int64_t n = X_.indptr[row + 1] - X_.indptr[row];
    float lanes[4] = {};  // a single sum would wait for itself
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (int lane = 0; lane < 4; ++lane) lanes[lane] += values[i + lane] * sum_[features[i + lane]];
    for (; i < n; ++i) lanes[0] += values[i] * sum_[features[i]];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }

  // Back to zero, given all rows that may have been added.
  void clear(std::span<const int32_t> rows) {
    int64_t entries = 0;
    for (int32_t row : rows) entries += X_.indptr[row + 1] - X_.indptr[row];
    if (entries >= X_.n_cols) return std::fill(sum_.begin(), sum_.end(), 0.0f);
    for (int32_t row : rows) clear_at(X_.row(row));
  }
  void clear_at(std::span<const int32_t> features) {
    for (int32_t f : features) sum_[f] = 0;
  }

 private:
  const CsrView& X_;
  std::vector<float> sum_;
};

class DenseRowSum {
 public:
  explicit DenseRowSum(const DenseView& X) : X_(X), simd_(simd::kernels()), sum_(X.n_cols) {}

  void add(int32_t row, float weight) { simd_.add_scaled(weight, X_.row(row), sum_.data(), sum_.size()); }
  float dot(int32_t row) const { return simd_.dot(X_.row(row), sum_.data(), sum_.size()); }
  void clear(std::span<const int32_t>) { std::fill(sum_.begin(), sum_.end(), 0.0f); }

 private:
  const DenseView& X_;
  const simd::Kernels& simd_;
  std::vector<float> sum_;
};

}  // namespace labelwood
