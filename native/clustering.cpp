#include "clustering.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "balanced_split.h"
#include "fingerprints.h"
#include "interpolated_split.h"
#include "kmeans_split.h"
#include "parallel.h"
#include "random.h"

namespace labelwood {
namespace {

// One level of the tree: the nodes as ranges of the labels' order.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

class LevelByLevel {
 public:
  // The order of labels with which it begins carries through: sums are made in it.
  explicit LevelByLevel(std::vector<int32_t> order) : order_(std::move(order)), level_{{0, std::ssize(order_)}} {
    child_ptr_.push_back(1);
    label_ptr_.push_back(0);
  }

  const std::vector<Range>& level() const { return level_; }
  int64_t first_node() const { return static_cast<int64_t>(child_ptr_.size()) - 1; }
  Labels labels(const Range& r) { return Labels(order_).subspan(r.begin, r.size()); }

  // Goes on to the children; `ends[i]` are the ends of node i's parts, empty for a leaf, whose labels are put in order.
  template <class Before>
  void descend(const std::vector<std::vector<int64_t>>& ends, Before before) {
    std::vector<Range> next;
    for (size_t i = 0; i < level_.size(); ++i) {
      int64_t begin = level_[i].begin;
      for (int64_t end : ends[i]) next.push_back({std::exchange(begin, end), end});
      child_ptr_.push_back(child_ptr_.back() + static_cast<int32_t>(ends[i].size()));
      if (ends[i].empty()) {
        std::sort(labels(level_[i]).begin(), labels(level_[i]).end(), before);
        for (int32_t label : labels(level_[i])) leaf_labels_.push_back(label);
      }
      label_ptr_.push_back(static_cast<int64_t>(leaf_labels_.size()));
    }
    level_ = std::move(next);
  }

  Tree finish() const { return {buffer_of(child_ptr_), buffer_of(label_ptr_), buffer_of(leaf_labels_)}; }

 private:
  template <class T>
  static Buffer<T> buffer_of(const std::vector<T>& values) {
    Buffer<T> out(values.size());
    std::copy(values.begin(), values.end(), out.begin());
    return out;
  }

  std::vector<int32_t> order_;
  std::vector<Range> level_;
  std::vector<int32_t> child_ptr_, leaf_labels_;
  std::vector<int64_t> label_ptr_;
};

// Ends of the parts of each node of a level; none for a leaf.
using Ends = std::vector<std::vector<int64_t>>;

// A thread's scratch for splitting, made when it is first needed.
template <class Split>
class Scratch {
 public:
  template <class... Arguments>
  Split& get(const Arguments&... arguments) {
    if (!split_) split_ = std::make_unique<Split>(arguments...);
    return *split_;
  }

 private:
  std::unique_ptr<Split> split_;
};

// A cluster with more labels than so many times its share is cut: one that takes nearly all makes the tree deep.
constexpr int64_t kMostShares = 8;

// Builds a tree by clustering; every node has random numbers of its own.
class TreeBuilder {
 public:
  TreeBuilder(const CsrView& vectors, const ClusterOptions& options, int n_threads)
      : vectors_(vectors), options_(options), n_threads_(std::max(n_threads, 1)), large_(vectors.n_rows() / n_threads_),
        fingerprints_(vectors), tree_(fingerprints_.ordered()), halves_(n_threads_), clusters_(n_threads_),
        interpolated_(n_threads_) {}

  // `split(node, worker, streams, ends)` finds the parts of a node that is no leaf.
  template <class SplitNode>
  Tree build(SplitNode split) {
    for (; !tree_.level().empty(); ++depth_) {
      const auto& nodes = tree_.level();
      const int64_t n = std::ssize(nodes), first = tree_.first_node();
      Ends ends(nodes.size());
      const auto visit = [&](int64_t i, bool large, int worker) {
        if (nodes[i].size() <= options_.max_leaf || (nodes[i].size() > large_) != large) return;
        Random streams(options_.seed, static_cast<uint64_t>(first + i));
        split(nodes[i], worker, streams, ends[i]);
      };
      for (int64_t i = 0; i < n; ++i) visit(i, true, 0);
      parallel_for(n, 1, n_threads_, [&](int64_t i, int64_t, int worker) { visit(i, false, worker); });
      tree_.descend(ends, [&](int32_t a, int32_t b) { return fingerprints_.before(a, b); });
    }
    return tree_.finish();
  }

  // Into no more parts than make full leaves: small leaves cost time and space.
  void cut(const Range& node, int worker, Random& streams, std::vector<int64_t>& ends) {
    const int64_t needed = (node.size() + options_.max_leaf - 1) / options_.max_leaf;
    BalancedSplit& halves = halves_[worker].get(vectors_, fingerprints_, options_, n_threads_);
    halves.cut(tree_.labels(node), std::min<int64_t>(needed, options_.arity), node.begin, streams, ends);
  }

  // Halves the heaviest part that is no leaf until there are as many parts as a node may have children.
  void interpolate(const LabelWeights& weights, const Interpolation& how, const Range& node, int worker,
                   Random& streams, std::vector<int64_t>& ends) {
    if (how.lam == 0 || depth_ >= options_.max_depth) return cut(node, worker, streams, ends);
    InterpolatedSplit& halves = interpolated_[worker].get(vectors_, fingerprints_, weights, how, options_, n_threads_);
    std::vector<Range> parts{node};
    std::vector<double> shares{1};  // of the node's weight
    while (std::ssize(parts) < options_.arity) {
      const int64_t heaviest = heaviest_part(parts, shares);
      if (heaviest < 0) break;
      const Range part = parts[heaviest];
      const auto [size, share] = halves.split(tree_.labels(part), streams.next());
      parts[heaviest].end = part.begin + size;
      parts.insert(parts.begin() + heaviest + 1, {part.begin + size, part.end});
      shares.insert(shares.begin() + heaviest + 1, shares[heaviest] * (1 - share));
      shares[heaviest] *= share;
    }
    for (const Range& part : parts) ends.push_back(part.end);
  }

  void cluster(const Range& node, int worker, Random& streams, std::vector<int64_t>& ends) {
    std::vector<int64_t> found;
    if (depth_ < options_.max_depth) {
      KMeansSplit& clusters = clusters_[worker].get(vectors_, fingerprints_, options_, n_threads_);
      clusters.split(tree_.labels(node), node.begin, streams.next(), found);
    }
    if (found.size() < 2) return cut(node, worker, streams, ends);
    const int64_t most = std::max<int64_t>(options_.max_leaf, kMostShares * node.size() / options_.arity);
    BalancedSplit& halves = halves_[worker].get(vectors_, fingerprints_, options_, n_threads_);
    int64_t begin = node.begin;
    for (int64_t end : found) {
      const Range part{std::exchange(begin, end), end};
      halves.cut(tree_.labels(part), (part.size() + most - 1) / most, part.begin, streams, ends);
    }
  }

 private:
  // Of parts that are too large for a leaf; −1 if there is none.
  int64_t heaviest_part(const std::vector<Range>& parts, const std::vector<double>& shares) const {
    int64_t heaviest = -1;
    for (int64_t i = 0; i < std::ssize(parts); ++i)
      if (parts[i].size() > options_.max_leaf && (heaviest < 0 || shares[i] > shares[heaviest])) heaviest = i;
    return heaviest;
  }

  const CsrView& vectors_;
  const ClusterOptions& options_;
  const int n_threads_;
  const int64_t large_;  // such nodes come one after another, so that all at work need no more memory than the root
  const Fingerprints fingerprints_;
  LevelByLevel tree_;
  std::vector<Scratch<BalancedSplit>> halves_;
  std::vector<Scratch<KMeansSplit>> clusters_;
  std::vector<Scratch<InterpolatedSplit>> interpolated_;
  int depth_ = 0;
};

}  // namespace

Tree balanced_tree(const CsrView& vectors, const ClusterOptions& options, int n_threads) {
  TreeBuilder builder(vectors, options, n_threads);
  return builder.build([&](const Range& node, int worker, Random& streams, std::vector<int64_t>& ends) {
    builder.cut(node, worker, streams, ends);
  });
}

Tree interpolated_tree(const CsrView& vectors, const LabelWeights& weights, const Interpolation& how,
                       const ClusterOptions& options, int n_threads) {
  TreeBuilder builder(vectors, options, n_threads);
  return builder.build([&](const Range& node, int worker, Random& streams, std::vector<int64_t>& ends) {
    builder.interpolate(weights, how, node, worker, streams, ends);
  });
}

Tree kmeans_tree(const CsrView& vectors, const ClusterOptions& options, int n_threads) {
  TreeBuilder builder(vectors, options, n_threads);
  return builder.build([&](const Range& node, int worker, Random& streams, std::vector<int64_t>& ends) {
    builder.cluster(node, worker, streams, ends);
  });
}

}  // namespace labelwood
