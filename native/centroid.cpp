#include "centroid.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "parallel.h"
#include "simd/kernels.h"
#include "topk.h"

namespace labelwood {
namespace {

constexpr int64_t kLabelsAtOnce = 64;
constexpr int64_t kRowsAtOnce = 32;

// A vector that is mostly zero: adds into it and visits what was added cost no more than what was added.
template <class T>
class SparseSum {
 public:
  explicit SparseSum(int64_t size) : values_(size), seen_(Buffer<uint8_t>::zeros(size)) {}

  void add(int32_t place, T value) {
    if (!seen_[place]) {
      seen_[place] = 1;
      touched_.push_back(place);
      values_[place] = value;
    } else {
      values_[place] += value;
    }
  }
  T operator[](int32_t place) const { return values_[place]; }
  std::vector<int32_t>& touched() { return touched_; }

  // Only the first `n` of what was added stays.
  void forget_from(size_t n) {
    for (size_t i = n; i < touched_.size(); ++i) seen_[touched_[i]] = 0;
    touched_.resize(n);
  }
  void clear() { forget_from(0); }

 private:
  Buffer<T> values_;
  Buffer<uint8_t> seen_;
  std::vector<int32_t> touched_;
};

// Sums that each worker makes when it first needs one.
template <class T>
class WorkerSums {
 public:
  WorkerSums(int n_threads, int64_t size) : size_(size), sums_(std::max(n_threads, 1)) {}
  SparseSum<T>& operator[](int worker) {
    if (!sums_[worker]) sums_[worker].emplace(size_);
    return *sums_[worker];
  }

 private:
  const int64_t size_;
  std::vector<std::optional<SparseSum<T>>> sums_;
};

struct CentroidChunk {
  std::vector<int64_t> ends;
  std::vector<int32_t> features;
  std::vector<float> values;

  void append(SparseSum<double>& sum, int64_t max_features) {
    std::vector<int32_t>& kept = sum.touched();
    if (std::ssize(kept) > max_features) {
      const auto larger = [&](int32_t a, int32_t b) {
        const double x = std::abs(sum[a]), y = std::abs(sum[b]);
        return x > y || (x == y && a < b);
      };
      std::nth_element(kept.begin(), kept.begin() + max_features, kept.end(), larger);
      sum.forget_from(max_features);
    }
    std::sort(kept.begin(), kept.end());
    double squares = 0;
    for (int32_t f : kept) squares += sum[f] * sum[f];
    const double scale = unit_scale(squares);
    for (int32_t f : kept) {
      if (sum[f] == 0) continue;
      features.push_back(f);
      values.push_back(static_cast<float>(sum[f] * scale));
    }
    ends.push_back(static_cast<int64_t>(features.size()));
  }
};

void offer(TopK<float>& best, float score, int32_t label, const CentroidOptions& options) {
  if (score >= options.min_score && (options.allowed.empty() || options.allowed[label])) best.offer(score, label);
}

}  // namespace

Csr centroids(const CsrView& X, const CsrView& members, int64_t max_features, int n_threads) {
  const int64_t n_labels = members.n_rows();
  std::vector<CentroidChunk> chunks((n_labels + kLabelsAtOnce - 1) / kLabelsAtOnce);
  WorkerSums<double> scratch(n_threads, X.n_cols);
  parallel_for(n_labels, kLabelsAtOnce, n_threads, [&](int64_t begin, int64_t end, int worker) {
    SparseSum<double>& sum = scratch[worker];
    for (int64_t label = begin; label < end; ++label) {
      for (int32_t row : members.row(label)) {
        const auto ids = X.row(row);
        const auto values = X.row_values(row);
        for (size_t j = 0; j < ids.size(); ++j) sum.add(ids[j], values[j]);
      }
      chunks[begin / kLabelsAtOnce].append(sum, max_features);
      sum.clear();
    }
  });
  int64_t total = 0;
  for (const auto& chunk : chunks) total += static_cast<int64_t>(chunk.features.size());
  Csr out{Buffer<int64_t>(n_labels + 1), Buffer<int32_t>(total), Buffer<float>(total), X.n_cols};
  out.indptr[0] = 0;
  int64_t label = 0, entry = 0;
  for (auto& chunk : chunks) {
    for (int64_t end : chunk.ends) out.indptr[++label] = entry + end;
    std::copy(chunk.features.begin(), chunk.features.end(), out.indices.begin() + entry);
    std::copy(chunk.values.begin(), chunk.values.end(), out.values.begin() + entry);
    entry += static_cast<int64_t>(chunk.features.size());
    chunk = {};
  }
  return out;
}

Buffer<float> centroids(const DenseView& X, const CsrView& members, int n_threads) {
  Buffer<float> out(members.n_rows() * X.n_cols);
  parallel_for(members.n_rows(), kLabelsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    std::vector<double> sum(X.n_cols);
    for (int64_t label = begin; label < end; ++label) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (int32_t row : members.row(label))
        for (int64_t j = 0; j < X.n_cols; ++j) sum[j] += X.row(row)[j];
      double squares = 0;
      for (double x : sum) squares += x * x;
      const double scale = unit_scale(squares);
      for (int64_t j = 0; j < X.n_cols; ++j) out[label * X.n_cols + j] = static_cast<float>(sum[j] * scale);
    }
  });
  return out;
}

Answers rank_by_centroids(const CsrView& X, const CsrView& weights, const CentroidOptions& options, int n_threads) {
  Answers out(X.n_rows(), options.k);
  WorkerSums<float> scratch(n_threads, weights.n_cols);
  parallel_for(X.n_rows(), kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int worker) {
    SparseSum<float>& scores = scratch[worker];
    TopK<float> best(options.k);
    for (int64_t row = begin; row < end; ++row) {
      const auto ids = X.row(row);
      const auto values = X.row_values(row);
      for (size_t j = 0; j < ids.size(); ++j) {
        const auto labels = weights.row(ids[j]);
        const auto strengths = weights.row_values(ids[j]);
        for (size_t i = 0; i < labels.size(); ++i) scores.add(labels[i], values[j] * strengths[i]);
      }
      for (int32_t label : scores.touched()) offer(best, scores[label], label, options);
      out.put(row, best);
      scores.clear();
    }
  });
  return out;
}

Answers rank_by_centroids(const DenseView& X, const DenseView& centroids, const CentroidOptions& options,
                          int n_threads) {
  const auto& simd = simd::kernels();
  Answers out(X.n_rows, options.k);
  parallel_for(X.n_rows, kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    std::vector<TopK<float>> best(end - begin, TopK<float>(options.k));
    // Some labels at a time, so that their centroids stay in cache for all rows of the chunk.
    for (int64_t first = 0; first < centroids.n_rows; first += kLabelsAtOnce)
      for (int64_t row = begin; row < end; ++row)
        for (int64_t label = first; label < std::min(first + kLabelsAtOnce, centroids.n_rows); ++label)
          offer(best[row - begin], simd.dot(X.row(row), centroids.row(label), X.n_cols), static_cast<int32_t>(label),
                options);
    for (int64_t row = begin; row < end; ++row) out.put(row, best[row - begin]);
  });
  return out;
}

}  // namespace labelwood
