#include "training.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "error.h"
#include "node_problem.h"
#include "parallel.h"
#include "random.h"
#include "simd/kernels.h"

namespace labelwood {
namespace {

using simd::kLanes;

// Memory for lanes, aligned to a cache line, that grows and is used again.
class LaneBuffer {
 public:
  float* of_size(size_t lanes) {
    if (lanes > capacity_) {
      memory_.reset(static_cast<float*>(std::aligned_alloc(64, lanes * kLanes * sizeof(float))));
      if (!memory_) throw std::bad_alloc();
      capacity_ = lanes;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> memory_;
  size_t capacity_ = 0;
};

// What a group of up to sixteen siblings learned: entries by feature, then lane.
struct GroupResult {
  std::vector<int32_t> features;  // their places in the problem
  std::vector<uint8_t> lanes;
  std::vector<float> values;
  float biases[kLanes];
};

// Siblings in the order they are solved: those with many positives together, as they need about as many passes.
std::vector<int32_t> solving_order(const NodeProblem& p) {
  std::vector<int32_t> order(p.positive_ptr.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return p.positive_ptr[a + 1] - p.positive_ptr[a] > p.positive_ptr[b + 1] - p.positive_ptr[b];
  });
  return order;
}

class GroupSolver {
 public:
  GroupResult solve(const NodeProblem& p, std::span<const int32_t> siblings, const TrainingOptions& options,
                    uint64_t seed) {
    masks_.assign(p.n_rows(), 0);
    for (size_t lane = 0; lane < siblings.size(); ++lane)
      for (int64_t i = p.positive_ptr[siblings[lane]]; i < p.positive_ptr[siblings[lane] + 1]; ++i)
        masks_[p.positives[i]] |= static_cast<uint16_t>(1u << lane);
    order_.resize(p.n_rows());
    const simd::SiblingProblem problem{
        .n_rows = p.n_rows(),
        .n_features = static_cast<int32_t>(p.features.size()),
        .row_ptr = p.row_ptr.data(),
        .features = p.local.data(),
        .values = p.values.data(),
        .squares = p.squares.data(),
        .positives = masks_.data(),
        .row_weights = p.row_weights.empty() ? nullptr : p.row_weights.data(),
        .n_lanes = static_cast<int>(siblings.size()),
        .bias = options.bias,
        .cost_positive = options.cost * options.positive_weight,
        .cost_negative = options.cost,
        .tolerance = options.tolerance,
        .max_passes = options.max_passes,
        .seed = seed,
    };
    float* weights = weights_.of_size(p.features.size());
    alignas(64) float biases[kLanes];
    const bool logistic = options.loss == Loss::kLogistic;
    const auto solve = logistic ? simd::kernels().solve_logistic : simd::kernels().solve_squared_hinge;
    solve(problem, {alphas_.of_size(size_t{logistic ? 2u : 1u} * p.n_rows()), order_.data()}, weights, biases);
    return kept(weights, biases, p.numbers, static_cast<int>(siblings.size()), options);
  }

 private:
  GroupResult kept(const float* weights, const float* biases, std::span<const int32_t> numbers, int n_lanes,
                   const TrainingOptions& options) {
    const int32_t n_features = static_cast<int32_t>(numbers.size());
    GroupResult out;
    std::copy(biases, biases + kLanes, out.biases);
    alignas(64) float least[kLanes];
    std::fill(least, least + kLanes, std::numeric_limits<float>::infinity());
    for (int lane = 0; lane < n_lanes; ++lane) least[lane] = least_weight(weights + lane, n_features, options);
    lanes_.resize(n_features);
    simd::kernels().lanes_to_keep(weights, n_features, least, lanes_.data());
    size_t total = 0;
    for (uint16_t lanes : lanes_) total += std::popcount(lanes);
    out.features.reserve(total);
    out.lanes.reserve(total);
    out.values.reserve(total);
    for (int32_t f = 0; f < n_features; ++f)
      for (uint32_t left = lanes_[numbers[f]]; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        out.features.push_back(f);
        out.lanes.push_back(static_cast<uint8_t>(lane));
        out.values.push_back(weights[numbers[f] * int64_t{kLanes} + lane]);
      }
    return out;
  }

  // The size from which on a lane's weights are kept.
  float least_weight(const float* lane, int32_t n_features, const TrainingOptions& options) {
    if (!options.max_weights || n_features <= *options.max_weights) return options.threshold;
    sizes_.resize(n_features);
    for (int32_t f = 0; f < n_features; ++f) {
      const float size = std::abs(lane[f * int64_t{kLanes}]);
      sizes_[f] = size >= 0 ? size : 0;  // no order holds for what is not a number, where training ran away
    }
    const auto last = sizes_.begin() + *options.max_weights - 1;
    std::nth_element(sizes_.begin(), last, sizes_.end(), std::greater<>());
    return std::max(*last, options.threshold);
  }

  LaneBuffer weights_, alphas_;
  std::vector<int32_t> order_;
  std::vector<uint16_t> masks_, lanes_;
  std::vector<float> sizes_;
};

// A node's segments and biases, ready to be packed.
struct NodeResult {
  std::vector<SegmentEntries> segments;
  std::vector<float> biases;
};

// Puts the groups' lanes back to their siblings' places: entries by feature.
NodeResult assembled(const NodeProblem& p, std::span<const int32_t> order, const std::vector<GroupResult>& groups) {
  NodeResult out;
  const size_t n_siblings = order.size();
  out.biases.resize(n_siblings);
  out.segments.resize((n_siblings + kSegment - 1) / kSegment);
  std::vector<int64_t> start(out.segments.size() * (p.features.size() + 1) + 1);
  const auto slot = [&](int32_t sibling, int32_t f) { return (sibling / kSegment) * (p.features.size() + 1) + f; };
  const auto each = [&](auto visit) {
    for (size_t g = 0; g < groups.size(); ++g)
      for (size_t i = 0; i < groups[g].features.size(); ++i)
        visit(order[g * kLanes + groups[g].lanes[i]], groups[g].features[i], groups[g].values[i]);
  };
  for (size_t i = 0; i < n_siblings; ++i) out.biases[order[i]] = groups[i / kLanes].biases[i % kLanes];
  each([&](int32_t sibling, int32_t f, float) { ++start[slot(sibling, f) + 1]; });
  for (size_t s = 0; s < out.segments.size(); ++s) {
    const size_t first = s * (p.features.size() + 1);
    start[first] = 0;
    for (size_t f = 0; f < p.features.size(); ++f) start[first + f + 1] += start[first + f];
    const int64_t total = start[first + p.features.size()];
    out.segments[s].features.resize(total);
    out.segments[s].columns.resize(total);
    out.segments[s].values.resize(total);
  }
  each([&](int32_t sibling, int32_t f, float value) {
    SegmentEntries& segment = out.segments[sibling / kSegment];
    const int64_t place = start[slot(sibling, f)]++;
    segment.features[place] = p.features[f];
    segment.columns[place] = static_cast<uint8_t>(sibling % kSegment);
    segment.values[place] = value;
  });
  return out;
}

class Trainer {
 public:
  Trainer(const TrainingData& data, const TrainingOptions& options, const TrainedNodes& wanted, int n_threads,
          Progress& progress)
      : data_(data), below_(data.tree), options_(options), wanted_(wanted), n_threads_(std::max(n_threads, 1)),
        progress_(progress), stored_(data.feature_numbers.size(), -1), work_(n_nodes()), results_(n_nodes()),
        gatherers_(n_threads_), solvers_(n_threads_) {
    for (size_t f = 0; f < stored_.size(); ++f) {
      const int32_t number = data.feature_numbers[f];
      if (number < 0 || number >= std::ssize(stored_) || std::exchange(stored_[number], static_cast<int32_t>(f)) >= 0)
        throw Error("the features have not each a number of their own");
    }
  }

  // The few large nodes come one after the other, with all threads on their groups; then the many small ones side by
  // side. So no more than one large node's rows are copied at a time.
  Blocks run() {
    const std::vector<int32_t> largest = by_work();
    const int64_t total = std::accumulate(work_.begin(), work_.end(), int64_t{0});
    progress_.total += total;
    int32_t n_large = 0;
    while (n_threads_ > 1 && n_large < n_nodes() && work_[largest[n_large]] * 4 * n_threads_ > total) ++n_large;
    for (int32_t i = 0; i < n_large; ++i) solve(largest[i], 0, n_threads_);
    parallel_for(n_nodes() - n_large, 1, n_threads_,
                 [&](int64_t i, int64_t, int worker) { solve(largest[n_large + i], worker, 1); });
    return packed();
  }

 private:
  int32_t n_nodes() const { return static_cast<int32_t>(wanted_.nodes.size()); }
  std::span<const int32_t> sent_to(int32_t i) const {
    return wanted_.sent.indptr.empty() ? std::span<const int32_t>() : wanted_.sent.row(i);
  }

  // The places of the nodes to be trained, those with the most work first.
  std::vector<int32_t> by_work() {
    for (int32_t i = 0; i < n_nodes(); ++i) {
      const int32_t node = wanted_.nodes[i];
      int64_t rows = static_cast<int64_t>(sent_to(i).size());
      for (int32_t label : below_.of(node)) rows += static_cast<int64_t>(data_.members.row(label).size());
      work_[i] = rows * ((data_.tree.n_siblings(node) + kLanes - 1) / kLanes);
    }
    std::vector<int32_t> places(n_nodes());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int32_t a, int32_t b) { return work_[a] > work_[b]; });
    return places;
  }

  void solve(int32_t place, int worker, int inner_threads) {
    const int32_t node = wanted_.nodes[place];
    if (!gatherers_[worker])
      gatherers_[worker] = std::make_unique<Gatherer>(data_, below_, wanted_.rows_with_labels, options_.seed, stored_);
    const NodeProblem& p = gatherers_[worker]->gather(node, sent_to(place));
    const std::vector<int32_t> order = solving_order(p);
    std::vector<GroupResult> groups((order.size() + kLanes - 1) / kLanes);
    const uint64_t node_seed = Random(options_.seed, static_cast<uint64_t>(node)).next();
    parallel_for(static_cast<int64_t>(groups.size()), 1, inner_threads, [&](int64_t g, int64_t, int inner) {
      const auto siblings = std::span(order).subspan(g * kLanes, std::min<size_t>(kLanes, order.size() - g * kLanes));
      GroupSolver& solver = solvers_[inner_threads > 1 ? inner : worker];
      groups[g] = solver.solve(p, siblings, options_, Random(node_seed, static_cast<uint64_t>(g)).next());
      progress_.done += work_[place] / static_cast<int64_t>(groups.size());
    });
    results_[place] = assembled(p, order, groups);
  }

  Blocks packed() {
    Blocks blocks;
    blocks.precision = options_.precision;
    for (NodeResult& result : results_) {
      pack(result.segments, result.biases, data_.X.n_cols, blocks);
      result = {};
    }
    return blocks;
  }

  const TrainingData& data_;
  const SubtreeLabels below_;
  const TrainingOptions& options_;
  const TrainedNodes& wanted_;
  const int n_threads_;
  Progress& progress_;
  std::vector<int32_t> stored_;
  std::vector<int64_t> work_;
  std::vector<NodeResult> results_;
  std::vector<std::unique_ptr<Gatherer>> gatherers_;
  std::vector<GroupSolver> solvers_;
};

}  // namespace

Blocks train(const TrainingData& data, const TrainingOptions& options, const TrainedNodes& wanted, int n_threads,
             Progress& progress) {
  return Trainer(data, options, wanted, n_threads, progress).run();
}

}  // namespace labelwood
