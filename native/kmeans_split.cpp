#include "kmeans_split.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "parallel.h"
#include "random.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

constexpr int64_t kLabelsAtOnce = 256;
constexpr int64_t kLabelsPerCenter = 256;  // more do not move a center much
constexpr int32_t kPerLeaf = 8;  // clusters that a full leaf could hold: sizes vary, and few should have to be split again
constexpr int64_t kRounds = 8;
constexpr int64_t kFirstPerCenter = 8;     // so many labels a center begin; they are twice as many in each round

}  // namespace

KMeansSplit::KMeansSplit(const CsrView& vectors, const Fingerprints& fingerprints, const ClusterOptions& options,
                         int n_threads)
    : vectors_(vectors), fingerprints_(fingerprints), options_(options), n_threads_(n_threads),
      number_(vectors.n_cols, -1) {}

void KMeansSplit::split(std::span<int32_t> labels, int64_t offset, uint64_t stream, std::vector<int64_t>& ends) {
  const auto is_empty = [&](int32_t label) { return vectors_.row(label).empty(); };
  const auto border = std::stable_partition(labels.begin(), labels.end(), std::not_fn(is_empty));
  const auto told_apart = labels.first(border - labels.begin());
  const int64_t n_empty = std::ssize(labels) - std::ssize(told_apart);
  // Labels without a vector form a part of their own; one of the parts is reserved for them.
  const int64_t room = options_.arity - (n_empty > 0);
  const int64_t wanted = std::ssize(told_apart) / std::max<int64_t>(2 * int64_t{options_.min_size}, options_.max_leaf / kPerLeaf);
  const int64_t n_centers = std::clamp<int64_t>(wanted, 1, room);
  if (n_centers > 1) {
    choose_sample(told_apart, n_centers, stream);
    make_centers(n_centers);
    find_centers();
    dissolve(told_apart);
    forget();
  } else {
    clusters_.assign(told_apart.size(), 0);
  }
  arrange(told_apart, offset, n_centers, ends);
  if (n_empty == 0) return;
  if (std::min(n_empty, std::ssize(told_apart)) < options_.min_size && !ends.empty()) ends.pop_back();
  ends.push_back(offset + std::ssize(labels));
}

// The labels that find the centers. The first of them are the centers to begin with.
void KMeansSplit::choose_sample(std::span<const int32_t> labels, int64_t n_centers, uint64_t stream) {
  const auto draw = [&](int32_t label) { return mixed(fingerprints_[label] ^ stream); };
  std::vector<std::pair<uint64_t, int32_t>> drawn;
  drawn.reserve(labels.size());
  for (int32_t label : labels) drawn.emplace_back(draw(label), label);
  std::sort(drawn.begin(), drawn.end());
  const size_t size = std::min<size_t>(drawn.size(), kLabelsPerCenter * n_centers);
  sample_.clear();
  for (size_t i = 0; i < size; ++i) sample_.push_back(drawn[i].second);
}

void KMeansSplit::make_centers(int64_t n_centers) {
  for (int32_t label : sample_)
    for (int32_t feature : vectors_.row(label)) {
      if (number_[feature] >= 0) continue;
      number_[feature] = static_cast<int32_t>(features_.size());
      features_.push_back(feature);
    }
  n_centers_ = n_centers;
  width_ = (n_centers + kLanes - 1) / kLanes * kLanes;
  sums_.assign(features_.size() * width_ / kLanes, Lanes{});
  scales_.assign(n_centers, 1.0f);
  for (int32_t cluster = 0; cluster < n_centers; ++cluster) add(sample_[cluster], cluster, 1.0f);
}

void KMeansSplit::find_centers() {
  const std::span<const int32_t> sample(sample_);
  std::vector<int32_t> before;
  clusters_.clear();
  double objective = 0;
  for (int64_t round = 0, n = kFirstPerCenter * n_centers_; round < kRounds; ++round, n *= 2) {
    const auto labels = sample.first(std::min(n, std::ssize(sample)));
    before = clusters_;
    const double reached = assign(labels, clusters_);
    if (round == 0) std::fill(sums_.begin(), sums_.end(), Lanes{});
    const bool moved = update(before);
    const bool all = before.size() == sample.size();
    if (!moved || (all && reached - objective < options_.tolerance)) break;
    objective = reached;
  }
}

// Places of labels, those with the same cluster together: they share features, whose sums then are still in cache.
// Places that have no cluster yet come last.
std::vector<int32_t> KMeansSplit::by_cluster(const std::vector<int32_t>& clusters, int64_t n) const {
  std::vector<int32_t> next(n_centers_ + 1), order(n);
  for (int32_t cluster : clusters) ++next[cluster + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (int32_t i = 0; i < std::ssize(clusters); ++i) order[next[clusters[i]]++] = i;
  for (int32_t i = static_cast<int32_t>(clusters.size()); i < n; ++i) order[i] = i;
  return order;
}

// Gives each label the nearest center; returns the mean of their inner products.
double KMeansSplit::assign(std::span<const int32_t> labels, std::vector<int32_t>& clusters) const {
  const int64_t n = std::ssize(labels);
  const std::vector<int32_t> order = by_cluster(clusters, n);
  clusters.resize(n);
  std::vector<double> parts((n + kLabelsAtOnce - 1) / kLabelsAtOnce);
  parallel_for(n, kLabelsAtOnce, n_threads_, [&](int64_t begin, int64_t end, int) {
    std::vector<Lanes> scores(width_ / kLanes);
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += nearest(labels[order[i]], scores, clusters[order[i]]);
    parts[begin / kLabelsAtOnce] = sum;
  });
  double total = 0;
  for (double part : parts) total += part;
  return total / static_cast<double>(std::max<int64_t>(n, 1));
}

float KMeansSplit::nearest(int32_t label, std::vector<Lanes>& scores, int32_t& cluster) const {
  const auto ids = vectors_.row(label);
  simd::kernels().center_products(
      {ids.data(), vectors_.row_values(label).data(), ids.size(), number_.data(), flat(sums_), width_}, flat(scores));
  const float* score = flat(scores);
  float best = -std::numeric_limits<float>::infinity();
  cluster = 0;
  for (int32_t c = 0; c < n_centers_; ++c) {
    const float s = score[c] * scales_[c];
    if (scales_[c] == 0 || s <= best) continue;
    best = s;
    cluster = c;
  }
  return best;
}

// Moves the labels that changed their cluster to its sum; whether any did. `before` has those that had one.
bool KMeansSplit::update(const std::vector<int32_t>& before) {
  bool moved = false;
  for (size_t i = 0; i < clusters_.size(); ++i) {
    if (i < before.size() && before[i] == clusters_[i]) continue;
    moved = true;
    if (i < before.size()) add(sample_[i], before[i], -1.0f);
    add(sample_[i], clusters_[i], 1.0f);
  }
  if (moved) rescale();
  return moved;
}

void KMeansSplit::add(int32_t label, int32_t cluster, float sign) {
  float* sums = flat(sums_) + cluster;
  const auto ids = vectors_.row(label);
  const auto values = vectors_.row_values(label);
  for (size_t j = 0; j < ids.size(); ++j) sums[number_[ids[j]] * width_] += sign * values[j];
}

// A cluster without labels has no center any more.
void KMeansSplit::rescale() {
  std::vector<double> squares(width_);
  const float* sums = flat(sums_);
  for (size_t i = 0; i < features_.size(); ++i)
    for (int64_t c = 0; c < width_; ++c, ++sums) squares[c] += static_cast<double>(*sums) * *sums;
  const auto size = sizes();
  for (int64_t c = 0; c < n_centers_; ++c)
    scales_[c] = size[c] > 0 && squares[c] > 0 ? static_cast<float>(1 / std::sqrt(squares[c])) : 0.0f;
}

std::vector<int64_t> KMeansSplit::sizes() const {
  std::vector<int64_t> sizes(n_centers_);
  for (int32_t cluster : clusters_) ++sizes[cluster];
  return sizes;
}

// Assigns all labels, and those of clusters that come out too small once more, to the centers that remain.
void KMeansSplit::dissolve(std::span<const int32_t> labels) {
  assign(labels, clusters_);
  const auto size = sizes();
  const int64_t largest = std::max_element(size.begin(), size.end()) - size.begin();
  for (int64_t c = 0; c < n_centers_; ++c)
    if (size[c] < options_.min_size && c != largest) scales_[c] = 0;
  std::vector<int32_t> homeless;
  for (size_t i = 0; i < labels.size(); ++i)
    if (scales_[clusters_[i]] == 0) homeless.push_back(static_cast<int32_t>(i));
  parallel_for(std::ssize(homeless), kLabelsAtOnce, n_threads_, [&](int64_t begin, int64_t end, int) {
    std::vector<Lanes> scores(width_ / kLanes);
    for (int64_t i = begin; i < end; ++i) nearest(labels[homeless[i]], scores, clusters_[homeless[i]]);
  });
}

void KMeansSplit::forget() {
  for (int32_t feature : features_) number_[feature] = -1;
  features_.clear();
}

void KMeansSplit::arrange(std::span<int32_t> labels, int64_t offset, int64_t n_clusters,
                          std::vector<int64_t>& ends) const {
  std::vector<int64_t> places(n_clusters);
  for (int32_t cluster : clusters_) ++places[cluster];
  int64_t end = 0;
  for (int64_t& place : places) {
    const int64_t begin = std::exchange(end, end + place);
    if (place > 0) ends.push_back(offset + end);
    place = begin;
  }
  std::vector<int32_t> arranged(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) arranged[places[clusters_[i]]++] = labels[i];
  std::copy(arranged.begin(), arranged.end(), labels.begin());
}

}  // namespace labelwood
