#include "softmax_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "best_first.h"
#include "parallel.h"

namespace labelwood {
namespace {

float log_sigmoid(float score) {
  return score > 0 ? -std::log1p(std::exp(-score)) : score - std::log1p(std::exp(score));
}

struct Space {
  std::vector<int32_t> places;
  std::vector<float> mean, scaled, scores;
  OpeningSpace opening;
};

constexpr int64_t kRowsAtOnce = 64;

// The mean of the embeddings of a row's features, weighted by its values. Features without an embedding are left out.
void embed_row(const SoftmaxModel& model, std::span<const int32_t> features, std::span<const float> values,
               Space& space) {
  space.places.assign(features.begin(), features.end());
  space.scaled.assign(values.begin(), values.end());
  if (model.kept) {
    size_t n = 0;
    for (size_t j = 0; j < features.size(); ++j)
      if (const int32_t place = model.kept->place_of(features[j]); place >= 0) {
        space.places[n] = place;
        space.scaled[n++] = values[j];
      }
    space.places.resize(n);
    space.scaled.resize(n);
  }
  const float scale = scale_of(space.scaled, model.scaling);
  for (float& value : space.scaled) value *= scale;
  space.mean.assign(model.embeddings.width, 0.0f);
  model.embeddings.add(space.places, space.scaled, space.mean.data());
}

OpeningOrder order_of(const SoftmaxRequest& r) {
  const float floor = r.min_score > 0 ? std::log(r.min_score) : -kInfinity;
  return {r.k, r.beam.value_or(0), r.best_first, floor, 0.0f};
}

class TreeSearch : public BestFirst<TreeSearch> {
 public:
  TreeSearch(const SoftmaxModel& model, const SoftmaxRequest& request, std::span<const uint8_t> open_nodes,
             Space& space)
      : BestFirst(order_of(request), space.opening), m_(model), open_nodes_(open_nodes), space_(space) {}

  void run() { open_nodes(); }
  int64_t opened = 0;

 private:
  friend BestFirst<TreeSearch>;

  // A leaf has one label and no vectors of its own: it is an answer as soon as its parent is open.
  template <class Push>
  bool open(const Candidate& parent, Push push) {
    ++opened;
    if (m_.tree.is_leaf(parent.node)) return meet(parent, push);
    score_children(parent.node);
    bool taken = false;
    for (size_t i = 0; i < space_.scores.size(); ++i) {
      const int32_t child = m_.tree.child_ptr[parent.node] + static_cast<int32_t>(i);
      taken |= meet({parent.score + space_.scores[i], parent.depth + 1, child}, push);
    }
    return taken;
  }

  template <class Push>
  bool meet(const Candidate& node, Push push) {
    const float needed = order_.best_first ? bar() : order_.floor;
    if (node.score < needed || !(open_nodes_.empty() || open_nodes_[node.node])) return false;
    if (m_.tree.is_leaf(node.node)) {
      const int32_t label = m_.tree.labels[m_.tree.label_ptr[node.node]];
      return m_.with_copies ? best_.offer_again(node.score, label) : best_.offer(node.score, label);
    }
    m_.vectors.prefetch(m_.first_vectors[node.node]);
    push(node);
    return false;
  }

  // Logarithms of the chances of a node's children.
  void score_children(int32_t node) {
    const int32_t first = m_.first_vectors[node], n = m_.tree.n_children(node);
    space_.scores.assign(n, 0.0f);
    for (int32_t i = 1; i < n; ++i) space_.scores[i] = m_.vectors.dot(first + i - 1, space_.mean.data());
    if (n == 2) {
      const float score = space_.scores[1];
      space_.scores[1] = log_sigmoid(score);
      space_.scores[0] = std::min(0.0f, space_.scores[1] - score);
      return;
    }
    float highest = 0, sum = 0;
    for (float score : space_.scores) highest = std::max(highest, score);
    for (float score : space_.scores) sum += std::exp(score - highest);
    const float log_sum = highest + std::log(sum);
    for (float& score : space_.scores) score = std::min(0.0f, score - log_sum);
  }

  const SoftmaxModel& m_;
  const std::span<const uint8_t> open_nodes_;
  Space& space_;
};

// Without a tree, all labels are scored.
void score_labels(const SoftmaxModel& model, const SoftmaxRequest& request, const Space& space, TopK<float>& best) {
  const float floor = order_of(request).floor;
  for (int64_t label = 0; label < model.vectors.n; ++label) {
    if (!request.allowed.empty() && !request.allowed[label]) continue;
    const float score = log_sigmoid(model.vectors.dot(label, space.mean.data()));
    if (score >= floor) best.offer(score, static_cast<int32_t>(label));
  }
}

}  // namespace

Answers search(const SoftmaxModel& model, const CsrView& X, const SoftmaxRequest& request, int n_threads,
               int64_t& opened) {
  Answers out(X.n_rows(), request.k);
  const bool flat = model.tree.child_ptr.empty();
  const std::vector<uint8_t> open_nodes = flat ? std::vector<uint8_t>() : nodes_with(model.tree, request.allowed);
  std::atomic<int64_t> n_opened{0};
  parallel_for(X.n_rows(), kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    thread_local Space space;
    TreeSearch tree_search(model, request, open_nodes, space);
    for (int64_t row = begin; row < end; ++row) {
      embed_row(model, X.row(row), X.row_values(row), space);
      if (flat)
        score_labels(model, request, space, tree_search.best());
      else
        tree_search.run();
      out.put(row, tree_search.best());
    }
    n_opened += tree_search.opened;
  });
  opened = n_opened;
  for (size_t i = 0; i < out.ids.size(); ++i)
    if (out.ids[i] >= 0) out.scores[i] = std::exp(out.scores[i]);
  return out;
}

Buffer<float> embed(const SoftmaxModel& model, const CsrView& X, int n_threads) {
  const int64_t width = model.embeddings.width;
  Buffer<float> out(X.n_rows() * width);
  parallel_for(X.n_rows(), kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    Space space;
    for (int64_t row = begin; row < end; ++row) {
      embed_row(model, X.row(row), X.row_values(row), space);
      std::copy(space.mean.begin(), space.mean.end(), out.data() + row * width);
    }
  });
  return out;
}

}  // namespace labelwood
