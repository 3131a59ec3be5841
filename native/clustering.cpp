#include "clustering.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "parallel.h"
#include "random.h"

namespace labelwood {
namespace {

constexpr int64_t kLabelsAtOnce = 4096;

using Labels = std::span<int32_t>;

// A number for each label made from its vector alone. Whatever must be decided arbitrarily is decided by it, so that
// labels in another order give the same tree. Only labels with equal vectors fall back on their ids.
class Fingerprints {
 public:
  explicit Fingerprints(const CsrView& vectors) : of_(vectors.n_rows()) {
    for (int64_t label = 0; label < vectors.n_rows(); ++label) {
      uint64_t sum = 0;
      const auto ids = vectors.row(label);
      const auto values = vectors.row_values(label);
      for (size_t j = 0; j < ids.size(); ++j)
        sum += mixed((static_cast<uint64_t>(ids[j]) << 32 | std::bit_cast<uint32_t>(values[j])) + 1);
      of_[label] = mixed(sum);
    }
  }

  uint64_t operator[](int32_t label) const { return of_[label]; }
  std::vector<int32_t> ordered() const {
    std::vector<int32_t> labels(of_.size());
    std::iota(labels.begin(), labels.end(), 0);
    std::sort(labels.begin(), labels.end(), [&](int32_t a, int32_t b) { return before(a, b); });
    return labels;
  }
  bool before(int32_t a, int32_t b) const { return of_[a] != of_[b] ? of_[a] < of_[b] : a < b; }

 private:
  std::vector<uint64_t> of_;
};

// Spherical 2-means over some labels whose sides have given sizes.
class BalancedSplit {
 public:
  BalancedSplit(const CsrView& vectors, const Fingerprints& fingerprints, const ClusterOptions& options, int n_threads)
      : vectors_(vectors), fingerprints_(fingerprints), options_(options), n_threads_(n_threads), centers_(vectors.n_cols), sums_(vectors.n_cols), seen_(vectors.n_cols) {}

  // Reorders the labels so that the first ones are one side, and returns how many they are: the share left / parts of
  // all, rounded; a tie is decided by the label in the middle.
  int64_t split(Labels labels, int64_t left, int64_t parts, uint64_t stream) {
    start(labels, stream);
    double objective = -1;
    int64_t size = 0;
    for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
      const double reached = score(labels);
      size = arrange(left, parts);
      const bool moved = update_sums();
      if (!moved || (iteration > 0 && reached - objective < options_.tolerance)) break;
      objective = reached;
      update_centers();
    }
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = scored_[i].label;
    clear();
    return size;
  }

 private:
  struct Pair {
    float plus = 0, minus = 0;
  };
  struct Scored {
    float score;    // how much nearer to plus than to minus
    int32_t label;
    int8_t side;    // +1, −1; 0 before the first round
  };

  void start(Labels labels, uint64_t stream) {
    scored_.clear();
    for (int32_t label : labels) {
      scored_.push_back({0, label, 0});
      each(label, [&](int32_t f, float) {
        if (!std::exchange(seen_[f], 1)) touched_.push_back(f);
      });
    }
    const auto draw = [&](int32_t label) { return mixed(fingerprints_[label] ^ stream); };
    const auto earlier = [&](int32_t a, int32_t b) { return draw(a) != draw(b) ? draw(a) < draw(b) : a < b; };
    std::nth_element(labels.begin(), labels.begin() + 1, labels.end(), earlier);
    each(labels[0], [&](int32_t f, float v) { centers_[f].plus = v; });
    each(labels[1], [&](int32_t f, float v) { centers_[f].minus = v; });
  }

  // Inner products with both centers; returns the mean over labels with the center of their side.
  double score(Labels labels) {
    const int64_t n = static_cast<int64_t>(labels.size());
    std::vector<double> parts((n + kLabelsAtOnce - 1) / kLabelsAtOnce);
    parallel_for(n, kLabelsAtOnce, n_threads_, [&](int64_t begin, int64_t end, int) {
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        float plus = 0, minus = 0;
        each(scored_[i].label, [&](int32_t f, float v) {
          plus += v * centers_[f].plus;
          minus += v * centers_[f].minus;
        });
        scored_[i].score = plus - minus;
        sum += scored_[i].side > 0 ? plus : minus;
      }
      parts[begin / kLabelsAtOnce] = sum;
    });
    double total = 0;
    for (double part : parts) total += part;
    return total / static_cast<double>(n);
  }

  // Puts the nearest to plus first; how many is decided as split() says.
  int64_t arrange(int64_t left, int64_t parts) {
    const int64_t n = static_cast<int64_t>(scored_.size());
    const auto before = [&](const Scored& a, const Scored& b) {
      return a.score != b.score ? a.score > b.score : fingerprints_.before(a.label, b.label);
    };
    const int64_t whole = n * left / parts, twice_rest = 2 * (n * left % parts);
    int64_t size = std::min(whole, n - 1);
    std::nth_element(scored_.begin(), scored_.begin() + size, scored_.end(), before);
    if (twice_rest > parts || (twice_rest == parts && scored_[size].score > 0)) ++size;
    return size_ = std::clamp<int64_t>(size, 1, n - 1);
  }

  // Moves labels that changed sides from one sum to the other; whether any did.
  bool update_sums() {
    bool moved = false;
    for (int64_t i = 0; i < static_cast<int64_t>(scored_.size()); ++i) {
      Scored& s = scored_[i];
      const int8_t side = i < size_ ? 1 : -1;
      if (s.side == side) continue;
      moved = true;
      each(s.label, [&](int32_t f, float v) {
        if (side > 0) sums_[f].plus += v; else sums_[f].minus += v;
        if (s.side > 0) sums_[f].plus -= v;
        if (s.side < 0) sums_[f].minus -= v;
      });
      s.side = side;
    }
    return moved;
  }

  void update_centers() {
    double plus = 0, minus = 0;
    for (int32_t f : touched_) {
      plus += static_cast<double>(sums_[f].plus) * sums_[f].plus;
      minus += static_cast<double>(sums_[f].minus) * sums_[f].minus;
    }
    const float plus_scale = unit_scale(plus), minus_scale = unit_scale(minus);
    for (int32_t f : touched_) centers_[f] = {sums_[f].plus * plus_scale, sums_[f].minus * minus_scale};
  }

  // A zero vector stays zero.
  static float unit_scale(double squares) { return squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0f; }

  void clear() {
    for (int32_t f : touched_) {
      centers_[f] = sums_[f] = {};
      seen_[f] = 0;
    }
    touched_.clear();
  }

  template <class Visit>
  void each(int32_t label, Visit visit) const {
    const auto ids = vectors_.row(label);
    const auto values = vectors_.row_values(label);
    for (size_t j = 0; j < ids.size(); ++j) visit(ids[j], values[j]);
  }

  const CsrView& vectors_;
  const Fingerprints& fingerprints_;
  const ClusterOptions& options_;
  const int n_threads_;
  std::vector<Pair> centers_, sums_;  // by feature; zero outside the labels at hand
  std::vector<uint8_t> seen_;         // likewise
  std::vector<int32_t> touched_;      // the features of the labels at hand
  std::vector<Scored> scored_;
  int64_t size_ = 0;
};

// Cuts labels into parts, by halves; `ends` gets the end of each part.
void cut(BalancedSplit& halves, Labels labels, int64_t parts, int64_t offset, Random& streams, std::vector<int64_t>& ends) {
  if (parts == 1) {
    ends.push_back(offset + static_cast<int64_t>(labels.size()));
    return;
  }
  const int64_t left = parts / 2;
  int64_t size = halves.split(labels, left, parts, streams.next());
  size = std::clamp<int64_t>(size, left, static_cast<int64_t>(labels.size()) - (parts - left));
  cut(halves, labels.first(size), left, offset, streams, ends);
  cut(halves, labels.subspan(size), parts - left, offset + size, streams, ends);
}

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

}  // namespace

Tree balanced_tree(const CsrView& vectors, const ClusterOptions& options, int n_threads) {
  const Fingerprints fingerprints(vectors);
  LevelByLevel tree(fingerprints.ordered());
  std::vector<std::unique_ptr<BalancedSplit>> workers(std::max(n_threads, 1));
  for (int depth = 0; !tree.level().empty(); ++depth) {
    const auto& nodes = tree.level();
    std::vector<std::vector<int64_t>> ends(nodes.size());
    parallel_for(static_cast<int64_t>(nodes.size()), 1, n_threads, [&](int64_t i, int64_t, int worker) {
      const Range& node = nodes[i];
      if (node.size() <= options.max_leaf || depth >= options.max_depth) return;
      if (!workers[worker]) workers[worker] = std::make_unique<BalancedSplit>(vectors, fingerprints, options, n_threads);
      Random streams(options.seed, static_cast<uint64_t>(tree.first_node() + i));
      const int64_t parts = std::min<int64_t>(options.arity, node.size());
      cut(*workers[worker], tree.labels(node), parts, node.begin, streams, ends[i]);
    });
    tree.descend(ends, [&](int32_t a, int32_t b) { return fingerprints.before(a, b); });
  }
  return tree.finish();
}

}  // namespace labelwood
