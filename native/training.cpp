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

// The rows of a node in random order with their features numbered anew, and the positives of each sibling.
struct NodeProblem {
  std::vector<int32_t> features;  // what a feature is called in the blocks; ascending
  std::vector<int32_t>
      numbers;  // what it is now, frequent features first: their weights are visited most and lie together
  std::vector<int64_t> row_ptr;
  std::vector<int32_t> local;
  std::vector<float> values, squares;
  std::vector<float> row_weights;  // empty: all the same
  std::vector<int64_t> positive_ptr;
  std::vector<int32_t> positives;  // rows of each sibling
  int32_t n_rows() const { return static_cast<int32_t>(squares.size()); }
  void clear() {
    features.clear(), numbers.clear(), row_ptr.clear(), local.clear(), values.clear(), squares.clear(),
        row_weights.clear();
    positive_ptr.clear(), positives.clear();
  }
};

// Gathers nodes' problems, one at a time; its tables are as long as the data has rows and features.
class Gatherer {
 public:
  Gatherer(const CsrView& X, const CsrView& members, const TreeView& tree, const SubtreeLabels& below,
           const TrainingOptions& options, std::span<const int32_t> stored)
      : X_(X), members_(members), tree_(tree), below_(below), options_(options), stored_(stored),
        row_number_(X.n_rows(), -1), feature_number_(X.n_cols, 0) {}

  // `sent` are the rows that a matcher sends to the node.
  const NodeProblem& gather(int32_t node, std::span<const int32_t> sent) {
    NodeProblem& p = problem_;
    p.clear();
    collect_rows(node, sent);
    number_rows();
    collect_positives(node, p);
    number_features(p);
    copy_rows(p);
    for (int32_t row : rows_) row_number_[row] = -1;
    for (int32_t f : p.features) feature_number_[given(f)] = 0;
    return p;
  }

 private:
  template <class Visit>
  void each_label_of_sibling(int32_t node, int32_t sibling, Visit visit) const {
    if (tree_.is_leaf(node)) return visit(tree_.labels_of(node)[sibling]);
    for (int32_t label : below_.of(tree_.child_ptr[node] + sibling)) visit(label);
  }

  void collect_rows(int32_t node, std::span<const int32_t> sent) {
    rows_.clear();
    const auto add = [&](int32_t row) {
      if (row_number_[row] < 0) row_number_[row] = 0, rows_.push_back(row);
    };
    if (options_.rows_with_labels)
      for (int32_t label : below_.of(node))
        for (int32_t row : members_.row(label)) add(row);
    for (int32_t row : sent) add(row);
    std::sort(rows_.begin(), rows_.end());
    Random random(options_.seed, static_cast<uint64_t>(node));
    for (size_t i = rows_.size(); i > 1; --i) std::swap(rows_[i - 1], rows_[random.below(i)]);
  }

  void number_rows() {
    for (size_t i = 0; i < rows_.size(); ++i) row_number_[rows_[i]] = static_cast<int32_t>(i);
  }

  void collect_positives(int32_t node, NodeProblem& p) {
    std::vector<int32_t> last(rows_.size(), -1);
    p.positive_ptr.push_back(0);
    for (int32_t sibling = 0; sibling < tree_.n_siblings(node); ++sibling) {
      each_label_of_sibling(node, sibling, [&](int32_t label) {
        for (int32_t row : members_.row(label)) {
          const int32_t i = row_number_[row];
          if (i >= 0 && std::exchange(last[i], sibling) != sibling) p.positives.push_back(i);
        }
      });
      p.positive_ptr.push_back(static_cast<int64_t>(p.positives.size()));
    }
  }

  // Frequent means the same number of digits: exact order would gain nothing. Counts take the numbers' place meanwhile.
  void number_features(NodeProblem& p) {
    for (int32_t row : rows_)
      for (int32_t f : X_.row(row))
        if (feature_number_[f]++ == 0) p.features.push_back(stored_.empty() ? f : options_.feature_numbers[f]);
    std::sort(p.features.begin(), p.features.end());
    const auto rarity = [&](int32_t f) {
      return 32 - std::bit_width(static_cast<uint32_t>(feature_number_[given(f)]));
    };
    int32_t next[33] = {};
    for (int32_t f : p.features) ++next[rarity(f) + 1];
    std::partial_sum(next, next + 33, next);
    for (int32_t f : p.features) p.numbers.push_back(feature_number_[given(f)] = next[rarity(f)]++);
  }

  // What a feature of the blocks is called in the rows.
  int32_t given(int32_t f) const { return stored_.empty() ? f : stored_[f]; }

  void copy_rows(NodeProblem& p) {
    int64_t total = 0;
    p.row_ptr.push_back(0);
    for (int32_t row : rows_) p.row_ptr.push_back(total += static_cast<int64_t>(X_.row(row).size()));
    p.local.reserve(total);
    p.values.reserve(total);
    for (int32_t row : rows_) {
      const auto values = X_.row_values(row);
      for (int32_t f : X_.row(row)) p.local.push_back(feature_number_[f]);
      p.values.insert(p.values.end(), values.begin(), values.end());
      p.squares.push_back(static_cast<float>(squared_length(values)));
      if (!options_.row_weights.empty()) p.row_weights.push_back(options_.row_weights[row]);
    }
  }

  const CsrView& X_;
  const CsrView& members_;
  const TreeView& tree_;
  const SubtreeLabels& below_;
  const TrainingOptions& options_;
  const std::span<const int32_t> stored_;  // the feature of each number in the blocks; empty: the same
  NodeProblem problem_;
  std::vector<int32_t> rows_, row_number_, feature_number_;
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
        .max_iterations = options.max_iterations,
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
    if (options.max_weights <= 0 || n_features <= options.max_weights) return options.threshold;
    sizes_.resize(n_features);
    for (int32_t f = 0; f < n_features; ++f) {
      const float size = std::abs(lane[f * int64_t{kLanes}]);
      sizes_[f] = size >= 0 ? size : 0;  // no order holds for what is not a number, where training ran away
    }
    const auto last = sizes_.begin() + options.max_weights - 1;
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
  Trainer(const CsrView& X, const CsrView& members, const TreeView& tree, const TrainingOptions& options, int n_threads,
          Progress& progress)
      : X_(X), members_(members), tree_(tree), below_(tree), options_(options), n_threads_(std::max(n_threads, 1)),
        progress_(progress), stored_(options.feature_numbers.size(), -1), work_(n_nodes()), results_(n_nodes()),
        gatherers_(n_threads_), solvers_(n_threads_) {
    for (size_t f = 0; f < stored_.size(); ++f) {
      const int32_t number = options.feature_numbers[f];
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
  int32_t n_nodes() const { return static_cast<int32_t>(options_.nodes.size()); }
  std::span<const int32_t> sent_to(int32_t i) const {
    return options_.matched.indptr.empty() ? std::span<const int32_t>() : options_.matched.row(i);
  }

  // The places of the nodes to be trained, those with the most work first.
  std::vector<int32_t> by_work() {
    for (int32_t i = 0; i < n_nodes(); ++i) {
      const int32_t node = options_.nodes[i];
      int64_t rows = static_cast<int64_t>(sent_to(i).size());
      for (int32_t label : below_.of(node)) rows += static_cast<int64_t>(members_.row(label).size());
      work_[i] = rows * ((tree_.n_siblings(node) + kLanes - 1) / kLanes);
    }
    std::vector<int32_t> places(n_nodes());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int32_t a, int32_t b) { return work_[a] > work_[b]; });
    return places;
  }

  void solve(int32_t place, int worker, int inner_threads) {
    const int32_t node = options_.nodes[place];
    if (!gatherers_[worker])
      gatherers_[worker] = std::make_unique<Gatherer>(X_, members_, tree_, below_, options_, stored_);
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
    blocks.stored = options_.stored;
    for (NodeResult& result : results_) {
      pack(result.segments, result.biases, X_.n_cols, blocks);
      result = {};
    }
    return blocks;
  }

  const CsrView& X_;
  const CsrView& members_;
  const TreeView& tree_;
  const SubtreeLabels below_;
  const TrainingOptions& options_;
  const int n_threads_;
  Progress& progress_;
  std::vector<int32_t> stored_;
  std::vector<int64_t> work_;
  std::vector<NodeResult> results_;
  std::vector<std::unique_ptr<Gatherer>> gatherers_;
  std::vector<GroupSolver> solvers_;
};

}  // namespace

Blocks train(const CsrView& X, const CsrView& members, const TreeView& tree, const TrainingOptions& options,
             int n_threads, Progress& progress) {
  return Trainer(X, members, tree, options, n_threads, progress).run();
}

}  // namespace labelwood
