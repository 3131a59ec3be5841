#include "prototype_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "huge_pages.h"
#include "parallel.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

constexpr int64_t kLabelsAtOnce = 64;         // whose codes stay in the nearest cache while queries pass
constexpr int64_t kLabelsOfChunk = 4096;
constexpr int64_t kBoundsAtOnce = 1 << 22;    // of several queries, in memory
constexpr int64_t kMostQueries = 512, kFewestQueries = 8;
constexpr int64_t kQueriesOfChunk = 8;        // that are answered from clusters
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

bool is_allowed(std::span<const uint8_t> allowed, int32_t label) { return allowed.empty() || allowed[label] != 0; }

int64_t count_allowed(std::span<const uint8_t> allowed, std::span<const int32_t> labels) {
  if (allowed.empty()) return std::ssize(labels);
  return std::count_if(labels.begin(), labels.end(), [&](int32_t label) { return is_allowed(allowed, label); });
}

}  // namespace

PrototypeIndex::PrototypeIndex(const DenseView& prototypes, std::span<const int32_t> clusters, int n_threads)
    : prototypes_(prototypes), labels_(prototypes.n_rows) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max() / std::numeric_limits<int8_t>::max();
  levels_ = static_cast<int16_t>(std::min<int64_t>(std::numeric_limits<int16_t>::max(), most / std::max<int64_t>(prototypes.n_cols, 1)));
  std::iota(labels_.begin(), labels_.end(), 0);
  if (!clusters.empty()) group(clusters, n_threads);
  const int64_t n_places = std::ssize(labels_);
  codes_ = Buffer<int8_t>(n_places * prototypes.n_cols);
  scales_ = Buffer<float>(n_places), lengths_ = Buffer<float>(n_places), missed_ = Buffer<float>(n_places);
  prefer_huge_pages(codes_.data(), codes_.size());
  parallel_for(n_places, kLabelsOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t place = begin; place < end; ++place) encode(place);
  });
  for (float length : lengths_) longest_ = std::isfinite(length) ? std::max(longest_, length) : kAlways;
}

// By the first cluster of each label, or by the second.
PrototypeIndex::Grouped PrototypeIndex::grouped(std::span<const int32_t> clusters, int which, int64_t n_clusters) {
  Grouped out{std::vector<int64_t>(n_clusters + 1), std::vector<int32_t>(clusters.size() / 2)};
  for (size_t i = which; i < clusters.size(); i += 2) ++out.starts[clusters[i] + 1];
  std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
  std::vector<int64_t> next(out.starts.begin(), out.starts.end() - 1);
  for (size_t i = which; i < clusters.size(); i += 2) out.labels[next[clusters[i]]++] = static_cast<int32_t>(i / 2);
  return out;
}

// Puts labels cluster by cluster, twice, and finds the centres.
void PrototypeIndex::group(std::span<const int32_t> clusters, int n_threads) {
  const int64_t n_clusters = 1 + *std::max_element(clusters.begin(), clusters.end());
  Grouped own = grouped(clusters, 0, n_clusters), second = grouped(clusters, 1, n_clusters);
  centres_ = centroids(prototypes_, {own.starts, own.labels, {}, prototypes_.n_rows}, n_threads);
  const DenseView centres{centres_.data(), n_clusters, prototypes_.n_cols};
  nearest_ = std::make_unique<PrototypeIndex>(centres, std::span<const int32_t>{}, n_threads);
  for (int64_t cluster = 0; cluster < n_clusters; ++cluster) filled_.push_back(own.starts[cluster] < own.starts[cluster + 1]);
  for (int32_t label : second.labels) own_.push_back(clusters[2 * static_cast<int64_t>(label)]);
  labels_ = std::move(own.labels), starts_ = std::move(own.starts), seconds_ = std::move(second.starts);
  labels_.insert(labels_.end(), second.labels.begin(), second.labels.end());
  for (int64_t& start : seconds_) start += prototypes_.n_rows;
}

void PrototypeIndex::encode(int64_t place) {
  const int64_t n = prototypes_.n_cols;
  const float* x = prototypes_.row(labels_[place]);
  int8_t* codes = codes_.data() + place * n;
  const double squares = squared_length(x, n);
  const float most = largest(x, n);
  lengths_[place] = rounded_up(squares);
  if (is_usual(most) && std::isfinite(squares)) {
    scales_[place] = most / std::numeric_limits<int8_t>::max();
    missed_[place] = rounded_up(to_codes(x, n, scales_[place], codes));
  } else {  // as if it were zero: all of it is missed
    std::fill_n(codes, n, int8_t{0});
    scales_[place] = 0;
    missed_[place] = lengths_[place];
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

// No product of the query with a prototype, computed in single precision, is more than the bound of its place. Bounds are
// those from `begin` on.
void PrototypeIndex::bound(const Query& query, int64_t begin, int64_t end, float* bounds) const {
  if (!query.sound) {
    std::fill_n(bounds, end - begin, kAlways);
    return;
  }
  int32_t products[kLabelsAtOnce];
  for (int64_t at = begin; at < end; at += kLabelsAtOnce) {
    const int64_t n = std::min(kLabelsAtOnce, end - at);
    simd::kernels().code_products(codes_.data() + at * prototypes_.n_cols, query.codes.data(), prototypes_.n_cols, n, products);
    for (int64_t place = at; place < at + n; ++place) {
      const float product = static_cast<float>(products[place - at]) * (scales_[place] * query.scale);
      bounds[place - begin] = product + (query.length * missed_[place] + query.missed * lengths_[place] + kLeastProduct);
    }
  }
}

// Scores labels by their prototypes, those with the highest bounds first, as long as they can be among the best. Returns
// how many.
int64_t PrototypeIndex::choose(const float* query, const CentroidOptions& options, const Candidates& candidates, TopK<float>& best) const {
  const auto& simd = simd::kernels();
  const auto [labels, bounds] = candidates;
  const float least = std::max(options.min_score, std::numeric_limits<float>::lowest());
  int64_t n_scored = 0;
  const auto score = [&](int32_t label) {
    const float product = simd.dot(query, prototypes_.row(label), prototypes_.n_cols);
    if (product >= options.min_score) best.offer(product, label);
    ++n_scored;
  };
  if (!options.allowed.empty())
    for (size_t i = 0; i < bounds.size(); ++i)
      if (!is_allowed(options.allowed, labels[i])) bounds[i] = kNever;
  TopK<float> first(options.k);
  for (size_t i = 0; i < bounds.size(); ++i)
    if (bounds[i] >= least) first.offer(bounds[i], static_cast<int32_t>(i));
  for (const auto& [bound, i] : first.sorted()) {
    score(labels[i]);
    bounds[i] = kNever;
  }
  for (size_t i = 0; i < bounds.size(); ++i)
    if (bounds[i] >= (best.full() ? std::max(least, best.worst().score) : least)) score(labels[i]);
  return n_scored;
}

// Answers queries by all labels, from the row `first` of `out` on.
int64_t PrototypeIndex::scan(const DenseView& queries, const CentroidOptions& options, int n_threads, Answers& out, int64_t first) const {
  const int64_t n_labels = prototypes_.n_rows, n = queries.n_rows;
  const size_t width = n_labels;  // the first places have each label once
  Buffer<float> bounds(n * n_labels);
  std::vector<Query> some(n);
  if (!are_few(options.allowed))
    for (int64_t i = 0; i < n; ++i) some[i] = encoded(queries.row(i));
  parallel_for(n_labels, kLabelsOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin; at < end; at += kLabelsAtOnce)
      for (int64_t i = 0; i < n; ++i) bound(some[i], at, std::min(at + kLabelsAtOnce, end), bounds.data() + i * n_labels + at);
  });
  std::vector<int64_t> scored(n);
  parallel_for(n, 1, n_threads, [&](int64_t begin, int64_t end, int) {
    TopK<float> best(options.k);
    for (int64_t i = begin; i < end; ++i) {
      scored[i] = choose(queries.row(i), options, {{labels_.data(), width}, {bounds.data() + i * n_labels, width}}, best);
      out.put(first + i, best);
    }
  });
  return std::reduce(scored.begin(), scored.end());
}

Answers PrototypeIndex::topk(const DenseView& queries, const CentroidOptions& options, int n_threads, int64_t* n_rescored) const {
  const int64_t at_once = std::clamp(kBoundsAtOnce / std::max<int64_t>(prototypes_.n_rows, 1), kFewestQueries, kMostQueries);
  Answers out(queries.n_rows, options.k);
  int64_t n_scored = 0;
  for (int64_t first = 0; first < queries.n_rows; first += at_once)
    n_scored += scan({queries.row(first), std::min(at_once, queries.n_rows - first), queries.n_cols}, options, n_threads, out, first);
  if (n_rescored != nullptr) *n_rescored += n_scored;
  return out;
}

// The labels of some clusters, each once, and bounds of their products. `looked_into` is all zero, before and after.
void PrototypeIndex::gather(const Query& query, std::span<const int32_t> clusters, std::span<uint8_t> looked_into,
                            std::vector<int32_t>& labels, std::vector<float>& bounds) const {
  labels.clear();
  bounds.clear();
  const auto add = [&](int64_t begin, int64_t end) {
    labels.insert(labels.end(), labels_.begin() + begin, labels_.begin() + end);
    bounds.resize(labels.size());
    bound(query, begin, end, bounds.data() + bounds.size() - (end - begin));
  };
  for (int32_t cluster : clusters) looked_into[cluster] = 1;
  for (int32_t cluster : clusters) {
    add(starts_[cluster], starts_[cluster + 1]);
    size_t kept = labels.size();
    add(seconds_[cluster], seconds_[cluster + 1]);
    const int32_t* own = own_.data() + seconds_[cluster] - prototypes_.n_rows;
    for (size_t i = kept; i < labels.size(); ++i, ++own) {
      labels[kept] = labels[i];
      bounds[kept] = bounds[i];
      kept += !looked_into[*own];
    }
    labels.resize(kept);
    bounds.resize(kept);
  }
  for (int32_t cluster : clusters) looked_into[cluster] = 0;
}

Answers PrototypeIndex::topk_of_clusters(const DenseView& queries, const CentroidOptions& options, int64_t probes,
                                         std::span<const int64_t> needed, int n_threads) const {
  if (probes >= std::count(filled_.begin(), filled_.end(), 1) || are_few(options.allowed)) return topk(queries, options, n_threads);
  const int64_t n_allowed = count_allowed(options.allowed, {labels_.data(), static_cast<size_t>(prototypes_.n_rows)});
  const Answers clusters = nearest_->topk(queries, {probes, kNever, filled_}, n_threads);
  Answers out(queries.n_rows, options.k);
  parallel_for(queries.n_rows, kQueriesOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    TopK<float> best(options.k);
    std::vector<uint8_t> looked_into(filled_.size());
    std::vector<int32_t> labels;
    std::vector<float> bounds;
    for (int64_t i = begin; i < end; ++i) {
      const float* row = queries.row(i);
      const int32_t* ids = clusters.ids.data() + i * probes;
      gather(encoded(row), {ids, std::find(ids, ids + probes, -1)}, looked_into, labels, bounds);
      if (count_allowed(options.allowed, labels) < std::min(needed[i], n_allowed)) {
        scan({row, 1, queries.n_cols}, options, 1, out, i);
      } else {
        choose(row, options, {labels, bounds}, best);
        out.put(i, best);
      }
    }
  });
  return out;
}

}  // namespace labelwood
