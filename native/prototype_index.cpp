#include "prototype_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "huge_pages.h"
#include "parallel.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

constexpr int64_t kLabelsAtOnce = 64;         // whose codes stay in the nearest cache while queries pass
constexpr int64_t kLabelsOfChunk = 4096;
constexpr int64_t kBoundsAtOnce = 1 << 22;    // of several queries, in memory
constexpr int64_t kMostQueries = 512, kFewestQueries = 8;
constexpr float kLargestProduct = 1e37f;      // beyond, sums in single precision might overflow
constexpr float kLeastProduct = 1e-37f;       // what products that are too small for single precision add up to at most
constexpr float kUp = 1 + 0x1p-20f;           // more than a few roundings take away
constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kAlways = std::numeric_limits<float>::infinity();

double squared_length(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

float largest(const float* x, int64_t n) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i]));
  return most;
}

// Writes x / scale as whole numbers, and returns the squared length of what they miss.
template <class Code>
double to_codes(const float* x, int64_t n, float scale, Code* codes) {
  double missed = 0;
  for (int64_t i = 0; i < n; ++i) {
    constexpr float most = std::numeric_limits<Code>::max();
    codes[i] = static_cast<Code>(std::clamp(std::nearbyint(x[i] / scale), -most, most));
    const double rest = static_cast<double>(x[i]) - static_cast<double>(scale) * codes[i];
    missed += rest * rest;
  }
  return missed;
}

float rounded_up(double squares) { return static_cast<float>(std::sqrt(squares)) * kUp; }

// Whether sums of products of numbers up to so large are what single precision can hold.
bool is_usual(float largest) { return largest > 1e-15f && largest < 1e15f; }

// So few that scoring them by their prototypes costs less than looking at the codes of all.
bool are_few(std::span<const uint8_t> allowed) {
  return !allowed.empty() && 8 * std::count_if(allowed.begin(), allowed.end(), [](uint8_t a) { return a != 0; }) < std::ssize(allowed);
}

void forbid(std::span<float> bounds, std::span<const uint8_t> allowed) {
  for (size_t label = 0; label < allowed.size(); ++label)
    if (!allowed[label]) bounds[label] = kNever;
}

}  // namespace

PrototypeIndex::PrototypeIndex(const DenseView& prototypes, int n_threads)
    : prototypes_(prototypes),
      codes_(prototypes.n_rows * prototypes.n_cols),
      scales_(prototypes.n_rows),
      lengths_(prototypes.n_rows),
      missed_(prototypes.n_rows) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max() / std::numeric_limits<int8_t>::max();
  levels_ = static_cast<int16_t>(std::min<int64_t>(std::numeric_limits<int16_t>::max(), most / std::max<int64_t>(prototypes.n_cols, 1)));
  prefer_huge_pages(codes_.data(), codes_.size());
  parallel_for(prototypes.n_rows, kLabelsOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t label = begin; label < end; ++label) encode(label);
  });
  for (float length : lengths_) longest_ = std::isfinite(length) ? std::max(longest_, length) : kAlways;
}

void PrototypeIndex::encode(int64_t label) {
  const int64_t n = prototypes_.n_cols;
  const float* x = prototypes_.row(label);
  int8_t* codes = codes_.data() + label * n;
  const double squares = squared_length(x, n);
  const float most = largest(x, n);
  lengths_[label] = rounded_up(squares);
  if (is_usual(most) && std::isfinite(squares)) {
    scales_[label] = most / std::numeric_limits<int8_t>::max();
    missed_[label] = rounded_up(to_codes(x, n, scales_[label], codes));
  } else {  // as if it were zero: all of it is missed
    std::fill_n(codes, n, int8_t{0});
    scales_[label] = 0;
    missed_[label] = lengths_[label];
  }
}

PrototypeIndex::Query PrototypeIndex::encoded(const float* query) const {
  const int64_t n = prototypes_.n_cols;
  Query out{.codes = std::vector<int16_t>(n)};
  const double squares = squared_length(query, n);
  const float most = largest(query, n), length = rounded_up(squares);
  out.sound = levels_ > 0 && is_usual(most) && std::isfinite(squares) && length * longest_ < kLargestProduct;
  if (!out.sound) return out;
  out.scale = most / levels_;
  const float missed = rounded_up(to_codes(query, n, out.scale, out.codes.data()));
  out.length = (length + missed) * kUp;
  // A sum of n products in single precision is off by less than n roundings of ‖q‖·‖p‖; a few more are for the bound's own.
  out.missed = missed + out.length * static_cast<float>(n + 64) * 0x1p-24f;
  return out;
}

// No product of the query with a prototype, computed in single precision, is more than the label's bound.
void PrototypeIndex::bound(const Query& query, int64_t begin, int64_t end, float* bounds) const {
  if (!query.sound) {
    std::fill(bounds + begin, bounds + end, kAlways);
    return;
  }
  int32_t products[kLabelsAtOnce];
  simd::kernels().code_products(codes_.data() + begin * prototypes_.n_cols, query.codes.data(), prototypes_.n_cols, end - begin, products);
  for (int64_t label = begin; label < end; ++label) {
    const float product = static_cast<float>(products[label - begin]) * (scales_[label] * query.scale);
    bounds[label] = product + (query.length * missed_[label] + query.missed * lengths_[label] + kLeastProduct);
  }
}

// Scores labels by their prototypes, those with the highest bounds first, as long as they can be among the best. Returns
// how many.
int64_t PrototypeIndex::choose(const float* query, const CentroidOptions& options, std::span<float> bounds, TopK<float>& best) const {
  const auto& simd = simd::kernels();
  const float least = std::max(options.min_score, std::numeric_limits<float>::lowest());
  int64_t n_scored = 0;
  const auto score = [&](int32_t label) {
    const float product = simd.dot(query, prototypes_.row(label), prototypes_.n_cols);
    if (product >= options.min_score) best.offer(product, label);
    ++n_scored;
  };
  TopK<float> first(options.k);
  for (size_t label = 0; label < bounds.size(); ++label)
    if (bounds[label] >= least) first.offer(bounds[label], static_cast<int32_t>(label));
  for (const auto& [bound, label] : first.sorted()) {
    score(label);
    bounds[label] = kNever;
  }
  for (size_t label = 0; label < bounds.size(); ++label)
    if (bounds[label] >= (best.full() ? std::max(least, best.worst().score) : least)) score(static_cast<int32_t>(label));
  return n_scored;
}

Answers PrototypeIndex::topk(const DenseView& queries, const CentroidOptions& options, int n_threads, int64_t* n_rescored) const {
  const int64_t n_labels = prototypes_.n_rows;
  const int64_t at_once = std::clamp(kBoundsAtOnce / std::max<int64_t>(n_labels, 1), kFewestQueries, kMostQueries);
  const bool few = are_few(options.allowed);
  Answers out(queries.n_rows, options.k);
  Buffer<float> bounds(std::min(at_once, queries.n_rows) * n_labels);
  for (int64_t first = 0; first < queries.n_rows; first += at_once) {
    const int64_t n = std::min(at_once, queries.n_rows - first);
    std::vector<Query> some(n);
    if (!few)
      for (int64_t i = 0; i < n; ++i) some[i] = encoded(queries.row(first + i));
    parallel_for(n_labels, kLabelsOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
      for (int64_t at = begin; at < end; at += kLabelsAtOnce)
        for (int64_t i = 0; i < n; ++i) bound(some[i], at, std::min(at + kLabelsAtOnce, end), bounds.data() + i * n_labels);
    });
    std::vector<int64_t> scored(n);
    parallel_for(n, 1, n_threads, [&](int64_t begin, int64_t end, int) {
      TopK<float> best(options.k);
      for (int64_t i = begin; i < end; ++i) {
        const std::span<float> own{bounds.data() + i * n_labels, static_cast<size_t>(n_labels)};
        forbid(own, options.allowed);
        scored[i] = choose(queries.row(first + i), options, own, best);
        out.put(first + i, best);
      }
    });
    if (n_rescored != nullptr)
      for (int64_t count : scored) *n_rescored += count;
  }
  return out;
}

}  // namespace labelwood
