#include "search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "best_first.h"
#include "parallel.h"
#include "simd/kernels.h"
#include "sorting.h"

namespace labelwood {
namespace {

// A row's features by words of 64, as the blocks' bitmaps are.
class Query {
 public:
  void set(std::span<const int32_t> features, std::span<const float> values, std::span<const int32_t> numbers,
           bool unit) {
    entries_.clear();
    for (size_t j = 0; j < features.size(); ++j)
      entries_.push_back({numbers.empty() ? features[j] : numbers[features[j]], values[j]});
    if (!numbers.empty()) sort_by(std::span(entries_), spare_, [](const Entry& entry) { return entry.feature; });
    const double scale = unit ? unit_scale(squared_length(values)) : 1;
    words_.clear();
    values_.clear();
    for (const Entry& entry : entries_) {
      const uint32_t word = static_cast<uint32_t>(entry.feature) / 64;
      if (words_.empty() || words_.back().word != word)
        words_.push_back({word, static_cast<uint32_t>(values_.size()), 0});
      words_.back().bits |= uint64_t{1} << (entry.feature % 64);
      values_.push_back(static_cast<float>(entry.value * scale));
    }
  }

  // Adds the inner products with a segment's siblings to `sums`; returns how many bytes of weights were met.
  int64_t add_products(const BlocksView& b, int32_t segment, int32_t width, float* sums) const {
    const int64_t tops = tops_for(b.n_features);
    const simd::StoredWeights weights{
        .top_bits = b.top_bits.data() + segment * tops,
        .top_ranks = b.top_ranks.data() + segment * tops,
        .word_bits = b.word_bits.data() + b.word_ptr[segment],
        .word_ranks = b.word_ranks.data() + b.word_ptr[segment],
        .row_starts = b.row_starts.data() + b.row_ptr[segment],
        .bytes = b.bytes.data() + b.byte_ptr[segment],
        .precision = b.precision,
        .width = static_cast<uint32_t>(width),
    };
    return simd::kernels().add_products(weights, words_.data(), words_.size(), values_.data(), sums);
  }

 private:
  struct Entry {
    int32_t feature;
    float value;
  };

  std::vector<Entry> entries_, spare_;
  std::vector<simd::QueryWord> words_;
  std::vector<float> values_;
};

// The logarithm of the linked score; never above zero.
float log_linked(float score, Link link) {
  if (link == Link::kSigmoid) return score > 0 ? -std::log1p(std::exp(-score)) : score - std::log1p(std::exp(score));
  const float slack = std::max(0.0f, 1.0f - score);
  return -slack * slack * slack;
}

// A score whose link's logarithm is at most `log_value`: siblings below it need not be linked to be left out.
float lowest_with(float log_value, Link link) {
  constexpr float kMargin = 1e-3f;  // for the rounding of what follows
  if (!(log_value < 0)) return -kInfinity;
  if (link == Link::kSigmoid) return -std::log(std::expm1(-log_value)) - kMargin * (1 - log_value);
  return 1 - std::cbrt(-log_value) * (1 + kMargin) - kMargin;
}

// Space that a thread's searches use one after another.
struct Space {
  struct alignas(64) Line {
    float of[16];
  };
  Query query;
  std::vector<Line> lines;  // of sums, so that those of a segment begin with a whole one
  std::vector<float> highest;
  OpeningSpace opening;
  CopyMeans means;
};

// For means, the whole beam is found first, level by level.
OpeningOrder order_of(const SearchTree& model, const SearchOptions& options, const SearchRequest& r) {
  const float floor = r.min_score > 0 ? std::log(r.min_score) : -kInfinity;
  return {r.k, options.beam.value_or(0), r.best_first && !model.means, floor, r.slack};
}

// One row's search, and the next's.
class RowSearch : public BestFirst<RowSearch> {
 public:
  RowSearch(const SearchTree& model, const SearchOptions& options, const SearchRequest& request,
            std::span<const uint8_t> open_nodes, Space& space)
      : BestFirst(order_of(model, options, request), space.opening), m_(model), o_(options), allowed_(request.allowed),
        is_best_first_(request.best_first), open_nodes_(open_nodes), query_(space.query), lines_(space.lines),
        means_(space.means), highest_(space.highest) {}

  void run(std::span<const int32_t> features, std::span<const float> values) {
    query_.set(features, values, m_.blocks.feature_numbers, o_.normalize);
    if (m_.means) return find_means();
    open_nodes();
  }
  SearchCosts costs;

  // Notes nodes from `first` on, and leaves, instead of opening them.
  void reach(std::span<const int32_t> features, std::span<const float> values, int32_t first) {
    query_.set(features, values, m_.blocks.feature_numbers, o_.normalize);
    reach(first);
  }
  std::vector<Candidate> reached;

 private:
  friend BestFirst<RowSearch>;

  // Returns whether the answers changed.
  template <class Push>
  bool open(const Candidate& parent, Push push) {
    if (parent.node >= stop_ || (stop_ < kNowhere && m_.tree.is_leaf(parent.node))) {
      reached.push_back(parent);
      return false;
    }
    const int32_t n = m_.tree.n_siblings(parent.node);
    score_siblings(parent.node, n);
    if (m_.tree.is_leaf(parent.node)) {
      ++costs.leaves;
      costs.labels += n;
      return offer_labels(parent);
    }
    ++costs.nodes;
    costs.children += n;
    push_children(parent, push);
    return false;
  }

  // Returns whether any became an answer.
  bool offer_labels(const Candidate& leaf) {
    const auto labels = m_.tree.labels_of(leaf.node);
    const float needed =
        allowed_.empty() && !best_.full() ? std::max(order_.floor, score_of(order_.k, leaf, 1.0f)) : bar();
    bool taken = false;
    each_above(needed, leaf, 1.0f, [&](int32_t i, float score) {
      if (score < order_.floor || !(allowed_.empty() || allowed_[labels[i]])) return;
      taken |= m_.with_copies ? best_.offer_again(score, labels[i]) : best_.offer(score, labels[i]);
    });
    return taken;
  }

  void reach(int32_t first) {
    reached.clear();
    stop_ = first;
    open_nodes();
    stop_ = kNowhere;
  }

  // Leaves are opened best first. Once what is not seen yet cannot be an answer, only those count that a label waits
  // for.
  void find_means() {
    reach(m_.tree.n_nodes());
    std::sort(reached.begin(), reached.end(), opens_before);
    means_.begin(*m_.means, reached, m_.tree.n_nodes());
    auto leaf = reached.begin();
    for (; leaf != reached.end() && !(is_best_first_ && leaf->score < bar()); ++leaf) add_to_means(*leaf);
    needed_.clear();
    means_.each_needed(bar(), [&](int32_t node) { needed_.push_back(node); });
    for (; leaf != reached.end(); ++leaf)
      if (std::ranges::find(needed_, leaf->node) != needed_.end()) add_to_means(*leaf);
  }

  void add_to_means(const Candidate& leaf) {
    const auto labels = m_.tree.labels_of(leaf.node);
    score_siblings(leaf.node, static_cast<int32_t>(labels.size()));
    ++costs.leaves;
    costs.labels += std::ssize(labels);
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (!(allowed_.empty() || allowed_[labels[i]])) continue;
      const float score = leaf.score + log_linked(sums_[i], o_.link);
      means_.add(labels[i], leaf.node, score, bar(), [&](float mean) {
        if (mean >= order_.floor) best_.offer(mean, labels[i]);
      });
    }
  }

  template <class Push>
  void push_children(const Candidate& parent, Push push) {
    float needed = order_.best_first ? bar() : -kInfinity;  // level by level is plain
    if (order_.beam > 0 && open_nodes_.empty())
      needed = std::max(needed, score_of(order_.beam, parent, o_.path_weight));
    each_above(needed, parent, o_.path_weight, [&](int32_t i, float score) {
      const int32_t child = m_.tree.child_ptr[parent.node] + i;
      if (score >= needed && (open_nodes_.empty() || open_nodes_[child])) push({score, parent.depth + 1, child});
    });
  }

  // The score of the sibling that is the n-th best of its own; no sum is needed more than those above it.
  float score_of(int64_t n, const Candidate& parent, float weight) {
    if (std::ssize(sums_) <= n) return -kInfinity;
    highest_.resize(n);
    std::partial_sort_copy(sums_.begin(), sums_.end(), highest_.begin(), highest_.end(), std::greater<>());
    return parent.score + weight * log_linked(highest_.back(), o_.link);
  }

  // The siblings whose score may be `needed` or more.
  template <class Visit>
  void each_above(float needed, const Candidate& parent, float weight, Visit visit) {
    // Scores that are a few last bits lower may be rounded to the same.
    const float rounding = 4 * std::numeric_limits<float>::epsilon() * (std::abs(needed) + std::abs(parent.score));
    const float lowest = lowest_with((needed - rounding - parent.score) / weight, o_.link);
    for (size_t i = 0; i < sums_.size(); ++i)
      if (!(sums_[i] < lowest)) visit(static_cast<int32_t>(i), parent.score + weight * log_linked(sums_[i], o_.link));
  }

  void score_siblings(int32_t node, int32_t n) {
    const BlocksView& b = m_.blocks;
    lines_.assign((n + 15) / 16, {});
    sums_ = {lines_[0].of, static_cast<size_t>(n)};
    for (int32_t s = 0; s * kSegment < n; ++s) {
      const int32_t segment = b.segment_ptr[node] + s;
      const int32_t first = s * kSegment, width = std::min(n - first, kSegment);
      costs.bytes += query_.add_products(b, segment, width, sums_.data() + first);
    }
    const int64_t first = b.sibling_ptr[node];
    const float* biases = b.biases.data() + first;
    if (b.precision == simd::Precision::kInt8) {
      const float* scales = b.scales.data() + first;
      for (int32_t i = 0; i < n; ++i) sums_[i] = sums_[i] * scales[i] + biases[i];
    } else {
      for (int32_t i = 0; i < n; ++i) sums_[i] += biases[i];
    }
  }

  static constexpr int32_t kNowhere = std::numeric_limits<int32_t>::max();

  const SearchTree& m_;
  const SearchOptions& o_;
  const std::span<const uint8_t> allowed_;
  const bool is_best_first_;  // of the leaves of means: all nodes above them are found level by level
  const std::span<const uint8_t> open_nodes_;
  int32_t stop_ = kNowhere;
  Query& query_;
  std::vector<Space::Line>& lines_;
  std::span<float> sums_;  // of the siblings at hand
  CopyMeans& means_;
  std::vector<int32_t> needed_;
  std::vector<float>& highest_;
};

constexpr int64_t kRowsAtOnce = 64;

// Calls visit(row, search) after each row's search; returns what was looked at.
template <class Visit>
SearchCosts each_row(const SearchTree& model, const CsrView& X, const SearchOptions& options,
                     const SearchRequest& request, int n_threads, Visit visit) {
  SearchCosts costs;
  std::mutex adding;
  const std::vector<uint8_t> open_nodes = nodes_with(model.tree, request.allowed);
  parallel_for(X.n_rows(), kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    thread_local Space space;
    RowSearch row_search(model, options, request, open_nodes, space);
    for (int64_t row = begin; row < end; ++row) {
      row_search.run(X.row(row), X.row_values(row));
      visit(row, row_search);
    }
    const std::lock_guard lock(adding);
    costs += row_search.costs;
  });
  return costs;
}

}  // namespace

Answers search(const SearchTree& model, const CsrView& X, const SearchOptions& options, const SearchRequest& request,
               int n_threads, SearchCosts& costs) {
  Answers out(X.n_rows(), request.k);
  const auto put = [&](int64_t row, RowSearch& found) { out.put(row, found.best()); };
  costs = each_row(model, X, options, request, n_threads, put);
  for (size_t i = 0; i < out.ids.size(); ++i)
    if (out.ids[i] >= 0) out.scores[i] = std::exp(out.scores[i]);
  return out;
}

Reached reached(const SearchTree& model, const CsrView& X, const SearchOptions& options, int32_t first, int n_threads) {
  const SearchRequest request{.k = 1, .best_first = false};
  std::vector<std::vector<int32_t>> of_row(X.n_rows());
  parallel_for(X.n_rows(), kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    thread_local Space space;
    RowSearch row_search(model, options, request, {}, space);
    for (int64_t row = begin; row < end; ++row) {
      row_search.reach(X.row(row), X.row_values(row), first);
      for (const Candidate& node : row_search.reached) of_row[row].push_back(node.node);
      std::sort(of_row[row].begin(), of_row[row].end());
    }
  });
  Reached out;
  for (const std::vector<int32_t>& nodes : of_row) {
    out.nodes.insert(out.nodes.end(), nodes.begin(), nodes.end());
    out.row_ptr.push_back(std::ssize(out.nodes));
  }
  return out;
}

Buffer<float> slacks(const SearchTree& model, const CsrView& X, const SearchOptions& options,
                     const SearchRequest& request, int n_threads) {
  Buffer<float> out(X.n_rows());
  each_row(model, X, options, request, n_threads, [&](int64_t row, RowSearch& found) {
    out[row] = found.slack();
    found.best().clear();
  });
  return out;
}

Buffer<double> seconds(const SearchTree& model, const CsrView& X, const SearchOptions& options,
                       const SearchRequest& request) {
  using Clock = std::chrono::steady_clock;
  Buffer<double> out(X.n_rows());
  Clock::time_point last = Clock::now();
  each_row(model, X, options, request, 1, [&](int64_t row, RowSearch& found) {
    found.best().sorted();
    found.best().clear();
    const Clock::time_point now = Clock::now();
    out[row] = std::chrono::duration<double>(now - std::exchange(last, now)).count();
  });
  return out;
}

}  // namespace labelwood
