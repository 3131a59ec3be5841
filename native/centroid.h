// Label centroids (PIFA: the unit-length sum of a label's rows) and their inner products with rows.
#pragma once
#include <cstdint>
#include <span>

#include "answers.h"
#include "buffer.h"
#include "sparse.h"

namespace labelwood {

// Row-major matrix of somebody's floats.
struct DenseView {
  const float* data = nullptr;
  int64_t n_rows = 0, n_cols = 0;

  const float* row(int64_t i) const { return data + i * n_cols; }
};

// labels × features. `members` is labels × rows: who has the label. A label without rows gets a zero row.
// Of a sparse centroid the `max_features` largest features are kept.
Csr centroids(const CsrView& X, const CsrView& members, int64_t max_features, int n_threads);
Buffer<float> centroids(const DenseView& X, const CsrView& members, int n_threads);

// The k labels with the highest inner product. `weights` is features × labels; labels that share no feature with a row
// are not among its answers. Dense centroids are labels × features and all labels answer.
// Labels that are not `allowed` (per label; empty: all) or score less than `min_score` are no answers either.
struct CentroidOptions {
  int64_t k;
  float min_score;
  std::span<const uint8_t> allowed;
};
Answers rank_by_centroids(const CsrView& X, const CsrView& weights, const CentroidOptions& options, int n_threads);
Answers rank_by_centroids(const DenseView& X, const DenseView& centroids, const CentroidOptions& options,
                          int n_threads);

}  // namespace labelwood
