// Means of labels' scores over the leaves that a row's beam reaches. A mean is known once all of these that hold the
// label are opened; which of them need not be, bounds tell: nothing in a leaf scores more than the leaf itself.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "best_first.h"
#include "error.h"
#include "tree.h"

namespace labelwood {

// The leaves of each label.
struct LeavesOfLabels {
  std::vector<int64_t> label_ptr;
  std::vector<int32_t> leaves;

  LeavesOfLabels() = default;
  LeavesOfLabels(const TreeView& tree, int64_t n_labels) : label_ptr(n_labels + 1), leaves(tree.labels.size()) {
    for (int32_t label : tree.labels) {
      if (label < 0 || label >= n_labels)
        throw Error("the tree has labels that the model has not; save the model again");
      ++label_ptr[label + 1];
    }
    for (int64_t label = 0; label < n_labels; ++label) label_ptr[label + 1] += label_ptr[label];
    std::vector<int64_t> next(label_ptr.begin(), label_ptr.end() - 1);
    for (int32_t node = 0; node < tree.n_nodes(); ++node)
      for (int32_t label : tree.labels_of(node)) leaves[next[label]++] = node;
  }

  std::span<const int32_t> of(int32_t label) const {
    return std::span(leaves).subspan(label_ptr[label], label_ptr[label + 1] - label_ptr[label]);
  }
};

// The means of one row, and of the next.
class CopyMeans {
 public:
  // `reached` are the leaves of the row's beam, with their scores.
  void begin(const LeavesOfLabels& copies, std::span<const Candidate> reached, int32_t n_nodes) {
    copies_ = &copies;
    for (int32_t label : touched_) slots_[label] = kUnseen;
    for (int32_t leaf : in_beam_) scores_[leaf] = 0;
    touched_.clear();
    in_beam_.clear();
    waiting_.clear();
    slots_.resize(copies.label_ptr.size() - 1, kUnseen);
    scores_.resize(n_nodes);
    for (const Candidate& leaf : reached) {
      scores_[leaf.node] = std::exp(static_cast<double>(leaf.score));
      in_beam_.push_back(leaf.node);
    }
  }

  // A label's score in a leaf that is opened; calls known(logarithm of the mean) if that is told now. Labels that
  // cannot reach `bar` are forgotten.
  template <class Known>
  void add(int32_t label, int32_t leaf, float log_score, float bar, Known known) {
    int32_t& slot = slots_[label];
    if (slot == kForgotten) return;
    if (slot == kUnseen) {
      int32_t n = 0;
      double others = 0;  // the most that the label may score there
      for (int32_t other : copies_->of(label))
        if (scores_[other] > 0) ++n, others += other == leaf ? 0 : scores_[other];
      if (n == 1) return known(log_score);
      touched_.push_back(label);
      const double score = std::exp(static_cast<double>(log_score));
      if (std::log((score + others) / n) < bar) {
        slot = kForgotten;
        return;
      }
      slot = static_cast<int32_t>(waiting_.size());
      waiting_.push_back({label, n, n - 1, score, others});
      return;
    }
    Waiting& label_waits = waiting_[slot];
    label_waits.sum += std::exp(static_cast<double>(log_score));
    label_waits.others -= scores_[leaf];
    if (--label_waits.left == 0) known(static_cast<float>(std::log(label_waits.sum / label_waits.n)));
  }

  // Calls need(leaf) for each leaf of a label that is not known yet and may still reach `bar`.
  template <class Need>
  void each_needed(float bar, Need need) const {
    for (const Waiting& label : waiting_)
      if (label.left > 0 && !(std::log((label.sum + label.others) / label.n) < bar))
        for (int32_t leaf : copies_->of(label.label))
          if (scores_[leaf] > 0) need(leaf);
  }

 private:
  static constexpr int32_t kUnseen = -1, kForgotten = -2;
  struct Waiting {
    int32_t label, n, left;  // leaves of the beam that hold it, and of them not yet opened
    double sum, others;      // of its scores so far, and of the scores of the other leaves
  };

  const LeavesOfLabels* copies_ = nullptr;
  std::vector<int32_t> slots_;  // of each label its place among those that wait
  std::vector<double> scores_;  // of each node, if the beam reaches it; else zero
  std::vector<int32_t> touched_, in_beam_;
  std::vector<Waiting> waiting_;
};

}  // namespace labelwood
