#include "prototype_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dense_product.h"
#include "error.h"
#include "parallel.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

constexpr int64_t kLabelsAtOnce = 64;  // whose codes stay in the nearest cache while queries pass
constexpr int64_t kLabelsOfChunk = 4096;
constexpr int64_t kBoundsAtOnce = 1 << 22;  // of several queries, in memory
constexpr int64_t kMostQueries = 512, kFewestQueries = 8;
constexpr int64_t kQueriesOfChunk = 8;  // that are answered from clusters
constexpr float kMostSlack = 1e-2f;     // of what directions can be off by
constexpr int64_t kMoreFirst = 4;    // times as many labels are scored first where bounds are of some directions alone
constexpr size_t kFetchedAhead = 8;  // labels
constexpr float kNever = -std::numeric_limits<float>::infinity();

// So few that scoring them by their prototypes costs less than looking at the codes of all.
bool are_few(std::span<const uint8_t> allowed) {
  return !allowed.empty() &&
         8 * std::count_if(allowed.begin(), allowed.end(), [](uint8_t a) { return a != 0; }) < std::ssize(allowed);
}

bool is_allowed(std::span<const uint8_t> allowed, int32_t label) { return allowed.empty() || allowed[label] != 0; }

// Calls with the place of each bound that is not below what is least at the time. Blocks in which none is are passed
// over.
template <class Least, class Call>
void each_from(std::span<const float> bounds, const Least& least, const Call& call) {
  for (size_t begin = 0; begin < bounds.size(); begin += kLabelsAtOnce) {
    const size_t end = std::min(begin + kLabelsAtOnce, bounds.size());
    const float at_first = least();
    int any = 0;
    for (size_t i = begin; i < end; ++i) any |= bounds[i] >= at_first;
    if (any == 0) continue;
    for (size_t i = begin; i < end; ++i)
      if (bounds[i] >= least()) call(i);
  }
}

int64_t count_allowed(std::span<const uint8_t> allowed, std::span<const int32_t> labels) {
  if (allowed.empty()) return std::ssize(labels);
  return std::count_if(labels.begin(), labels.end(), [&](int32_t label) { return is_allowed(allowed, label); });
}

}  // namespace

PrototypeIndex::PrototypeIndex(const DenseView& prototypes, const IndexParts& parts, int n_threads)
    : prototypes_(prototypes), labels_(prototypes.n_rows) {
  std::iota(labels_.begin(), labels_.end(), 0);
  if (!parts.clusters.empty()) group(parts.clusters, n_threads);
  std::vector<Places> places(prototypes.n_rows);
  for (int64_t place = 0; place < std::ssize(labels_); ++place) {
    Places& of_label = places[labels_[place]];
    (place < prototypes.n_rows ? of_label.own : of_label.second) = place;
  }
  if (parts.directions.n_cols > 0) direct(parts.directions);
  coarse_ = CodedRows(std::ssize(labels_), has_directions() ? parts.directions.n_cols : prototypes.n_cols);
  if (has_directions()) fine_ = CodedRows(prototypes.n_rows, prototypes.n_cols);
  parallel_for(prototypes.n_rows, kLabelsOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    encode(begin, end, parts.directions, places);
    for (int64_t label = begin; label < end; ++label)
      if (places[label].second >= 0) coarse_.copy(places[label].own, places[label].second);
  });
  coarse_.finish();
  fine_.finish();
}

// Keeps the directions as rows, and finds how far products in them can be off.
//
// With B for the directions, y = Bᵀp in single precision, ε = ‖BᵀB − I‖ and ‖y − Bᵀp‖ ≤ δ‖p‖, and the same for q:
//     |q·p − y_q·y_p|  ≤  ‖q − B·y_q‖·‖p − B·y_p‖ + (4ε + 3δ)·‖q‖·‖p‖,    ‖p − B·y‖²  ≤  ‖p‖² − ‖y‖² + (2ε + 3δ)·‖p‖²
// as long as ε and δ are small. Products of p and q in single precision are off by themselves.
void PrototypeIndex::direct(const DenseView& directions) {
  const int64_t n = directions.n_rows, width = directions.n_cols;
  directions_ = Buffer<float>(n * width);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < width; ++j) directions_[j * n + i] = directions.row(i)[j];
  double squares = 0, error = 0;
  for (int64_t a = 0; a < width; ++a)
    for (int64_t b = 0; b <= a; ++b) {
      double product = 0;
      for (int64_t i = 0; i < n; ++i) product += static_cast<double>(directions_[a * n + i]) * directions_[b * n + i];
      if (a == b) squares += product;
      error += (a == b ? 1 : 2) * std::pow(product - (a == b), 2);
    }
  const double rounding = static_cast<double>(n + 128) * 0x1p-24;
  slack_ = static_cast<float>(4 * std::sqrt(error) + (3 * std::sqrt(squares) + 1) * rounding);
  if (!(slack_ < kMostSlack)) throw Error("the directions are not of unit length and at right angles");
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
  Grouped numbers{{0}, {}};  // one label that is none would leave its cluster without a centre
  for (int64_t cluster = 0; cluster < n_clusters; ++cluster) {
    for (int64_t i = own.starts[cluster]; i < own.starts[cluster + 1]; ++i)
      if (std::isfinite(squared_length(prototypes_.row(own.labels[i]), prototypes_.n_cols)))
        numbers.labels.push_back(own.labels[i]);
    numbers.starts.push_back(std::ssize(numbers.labels));
  }
  centres_ = centroids(prototypes_, {numbers.starts, numbers.labels, {}, prototypes_.n_rows}, n_threads);
  const DenseView centres{centres_.data(), n_clusters, prototypes_.n_cols};
  nearest_ = std::make_unique<PrototypeIndex>(centres, IndexParts{}, n_threads);
  for (int64_t cluster = 0; cluster < n_clusters; ++cluster)
    filled_.push_back(own.starts[cluster] < own.starts[cluster + 1]);
  for (int32_t label : second.labels) own_.push_back(clusters[2 * static_cast<int64_t>(label)]);
  labels_ = std::move(own.labels), starts_ = std::move(own.starts), seconds_ = std::move(second.starts);
  labels_.insert(labels_.end(), second.labels.begin(), second.labels.end());
  for (int64_t& start : seconds_) start += prototypes_.n_rows;
}

// The codes of some labels, at their own places.
void PrototypeIndex::encode(int64_t begin, int64_t end, const DenseView& directions, std::span<const Places> places) {
  if (!has_directions()) {
    for (int64_t label = begin; label < end; ++label) coarse_.encode(places[label].own, prototypes_.row(label));
    return;
  }
  const int64_t width = directions.n_cols;
  Buffer<float> parts = dense_product({prototypes_.row(begin), end - begin, prototypes_.n_cols}, directions, 1);
  for (int64_t label = begin; label < end; ++label) {
    const float* row = prototypes_.row(label);
    float* part = parts.data() + (label - begin) * width;
    fine_.encode(label, row);
    coarse_.encode(places[label].own, part, rest_of(row, part));
  }
}

// The length of what a part in some directions leaves of a row, which is no part of one whose numbers are too small or
// large.
float PrototypeIndex::rest_of(const float* row, float* part) const {
  const int64_t n = prototypes_.n_cols, width = std::ssize(directions_) / n;
  const double squares = squared_length(row, n);
  if (!is_usual(largest_of(row, n))) std::fill_n(part, width, 0.0f);
  return rounded_up(std::max(squares - squared_length(part, width), 0.0) + slack_ * squares);
}

PrototypeIndex::Query PrototypeIndex::encoded(const float* query) const {
  if (!has_directions()) return {coarse_.encoded(query), {}};
  Query out{{}, fine_.encoded(query)};
  if (!out.fine.sound) return out;
  const int64_t n = prototypes_.n_cols, width = std::ssize(directions_) / n;
  std::vector<float> part(width);
  for (int64_t i = 0; i < width; ++i) part[i] = simd::kernels().dot(query, directions_.data() + i * n, n);
  const float rest = rest_of(query, part.data());
  out.coarse = coarse_.encoded(part.data(), rest, slack_ * out.fine.length * fine_.longest());
  return out;
}

// Scores labels by their prototypes, those with the highest bounds first, as long as they can be among the best.
// Returns how many.
int64_t PrototypeIndex::choose(const float* row, const Query& query, const CentroidOptions& options,
                               const Candidates& candidates, TopK<float>& best) const {
  const auto& simd = simd::kernels();
  const auto [labels, bounds] = candidates;
  const float lowest = std::max(options.min_score, std::numeric_limits<float>::lowest());
  int64_t n_scored = 0;
  const auto score = [&](int32_t label) {
    const float product = simd.dot(row, prototypes_.row(label), prototypes_.n_cols);
    if (product >= options.min_score) best.offer(product, label);
    ++n_scored;
  };
  const auto least = [&] { return best.full() ? std::max(lowest, best.worst().score) : lowest; };
  if (!options.allowed.empty())
    for (size_t i = 0; i < bounds.size(); ++i)
      if (!is_allowed(options.allowed, labels[i])) bounds[i] = kNever;
  TopK<float> first(has_directions() ? kMoreFirst * options.k : options.k);
  const auto least_of_first = [&] { return first.full() ? first.worst().score : lowest; };
  each_from(bounds, least_of_first, [&](size_t i) { first.offer(bounds[i], static_cast<int32_t>(i)); });
  for (const auto& [bound, i] : first.sorted()) {
    score(labels[i]);
    bounds[i] = kNever;
  }
  std::vector<int32_t> left;
  each_from(bounds, least, [&](size_t i) { left.push_back(static_cast<int32_t>(i)); });
  for (size_t j = 0; j < left.size(); ++j) {
    if (has_directions() && j + kFetchedAhead < left.size()) fine_.prefetch(labels[left[j + kFetchedAhead]]);
    const int32_t label = labels[left[j]];
    float bound = bounds[left[j]];
    if (has_directions() && bound >= least()) fine_.bound(query.fine, label, label + 1, &bound);
    if (bound >= least()) score(label);
  }
  return n_scored;
}

// Answers queries by all labels, from the row `first` of `out` on.
int64_t PrototypeIndex::scan(const DenseView& queries, const CentroidOptions& options, int n_threads, Answers& out,
                             int64_t first) const {
  const int64_t n_labels = prototypes_.n_rows, n = queries.n_rows;
  const size_t width = n_labels;  // the first places have each label once
  Buffer<float> bounds(n * n_labels);
  std::vector<Query> some(n);
  if (!are_few(options.allowed))
    for (int64_t i = 0; i < n; ++i) some[i] = encoded(queries.row(i));
  parallel_for(n_labels, kLabelsOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin; at < end; at += kLabelsAtOnce)
      for (int64_t i = 0; i < n; ++i)
        coarse_.bound(some[i].coarse, at, std::min(at + kLabelsAtOnce, end), bounds.data() + i * n_labels + at);
  });
  std::vector<int64_t> scored(n);
  parallel_for(n, 1, n_threads, [&](int64_t begin, int64_t end, int) {
    TopK<float> best(options.k);
    for (int64_t i = begin; i < end; ++i) {
      scored[i] = choose(queries.row(i), some[i], options,
                         {{labels_.data(), width}, {bounds.data() + i * n_labels, width}}, best);
      out.put(first + i, best);
    }
  });
  return std::reduce(scored.begin(), scored.end());
}

Answers PrototypeIndex::topk(const DenseView& queries, const CentroidOptions& options, int n_threads,
                             int64_t* n_rescored) const {
  const int64_t at_once =
      std::clamp(kBoundsAtOnce / std::max<int64_t>(prototypes_.n_rows, 1), kFewestQueries, kMostQueries);
  Answers out(queries.n_rows, options.k);
  int64_t n_scored = 0;
  for (int64_t first = 0; first < queries.n_rows; first += at_once)
    n_scored += scan({queries.row(first), std::min(at_once, queries.n_rows - first), queries.n_cols}, options,
                     n_threads, out, first);
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
    coarse_.bound(query.coarse, begin, end, bounds.data() + bounds.size() - (end - begin));
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
  if (probes >= std::count(filled_.begin(), filled_.end(), 1) || are_few(options.allowed))
    return topk(queries, options, n_threads);
  const int64_t n_allowed = count_allowed(options.allowed, {labels_.data(), static_cast<size_t>(prototypes_.n_rows)});
  Answers out(queries.n_rows, options.k);
  parallel_for(queries.n_rows, kQueriesOfChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    const Answers clusters =
        nearest_->topk({queries.row(begin), end - begin, queries.n_cols}, {probes, kNever, filled_}, 1);
    TopK<float> best(options.k);
    std::vector<uint8_t> looked_into(filled_.size());
    std::vector<int32_t> labels;
    std::vector<float> bounds;
    for (int64_t i = begin; i < end; ++i) {
      const float* row = queries.row(i);
      const int32_t* ids = clusters.ids.data() + (i - begin) * probes;
      const Query query = encoded(row);
      gather(query, {ids, std::find(ids, ids + probes, -1)}, looked_into, labels, bounds);
      if (count_allowed(options.allowed, labels) < std::min(needed[i], n_allowed)) {
        scan({row, 1, queries.n_cols}, options, 1, out, i);
      } else {
        choose(row, query, options, {labels, bounds}, best);
        out.put(i, best);
      }
    }
  });
  return out;
}

}  // namespace labelwood
