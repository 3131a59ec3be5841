// What is solved at a node of a tree: its rows with their features, and which of them are positives.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "random.h"
#include "sparse.h"
#include "training.h"
#include "tree.h"

namespace labelwood {

// The rows of a node in random order with their features numbered anew, and the positives of each sibling.
struct NodeProblem {
  std::vector<int32_t> features;  // what a feature is called in the blocks; ascending
  // What it is called here, frequent features first: their weights are visited most and lie together.
  std::vector<int32_t> numbers;
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
  // `with_labels` says whether the rows that have a label below a node are among its rows.
  Gatherer(const TrainingData& data, const SubtreeLabels& below, bool with_labels, uint64_t seed,
           std::span<const int32_t> stored)
      : data_(data), below_(below), with_labels_(with_labels), seed_(seed), stored_(stored),
        row_number_(data.X.n_rows(), -1), feature_number_(data.X.n_cols, 0) {}

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
    if (data_.tree.is_leaf(node)) return visit(data_.tree.labels_of(node)[sibling]);
    for (int32_t label : below_.of(data_.tree.child_ptr[node] + sibling)) visit(label);
  }

  void collect_rows(int32_t node, std::span<const int32_t> sent) {
    rows_.clear();
    const auto add = [&](int32_t row) {
      if (row_number_[row] < 0) row_number_[row] = 0, rows_.push_back(row);
    };
    if (with_labels_)
      for (int32_t label : below_.of(node))
        for (int32_t row : data_.members.row(label)) add(row);
    for (int32_t row : sent) add(row);
    std::sort(rows_.begin(), rows_.end());
    Random random(seed_, static_cast<uint64_t>(node));
    for (size_t i = rows_.size(); i > 1; --i) std::swap(rows_[i - 1], rows_[random.below(i)]);
  }

  void number_rows() {
    for (size_t i = 0; i < rows_.size(); ++i) row_number_[rows_[i]] = static_cast<int32_t>(i);
  }

  void collect_positives(int32_t node, NodeProblem& p) {
    std::vector<int32_t> last(rows_.size(), -1);
    p.positive_ptr.push_back(0);
    for (int32_t sibling = 0; sibling < data_.tree.n_siblings(node); ++sibling) {
      each_label_of_sibling(node, sibling, [&](int32_t label) {
        for (int32_t row : data_.members.row(label)) {
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
      for (int32_t f : data_.X.row(row))
        if (feature_number_[f]++ == 0) p.features.push_back(stored_.empty() ? f : data_.feature_numbers[f]);
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
    for (int32_t row : rows_) p.row_ptr.push_back(total += static_cast<int64_t>(data_.X.row(row).size()));
    p.local.reserve(total);
    p.values.reserve(total);
    for (int32_t row : rows_) {
      const auto values = data_.X.row_values(row);
      for (int32_t f : data_.X.row(row)) p.local.push_back(feature_number_[f]);
      p.values.insert(p.values.end(), values.begin(), values.end());
      p.squares.push_back(static_cast<float>(squared_length(values)));
      if (!data_.row_weights.empty()) p.row_weights.push_back(data_.row_weights[row]);
    }
  }

  const TrainingData& data_;
  const SubtreeLabels& below_;
  const bool with_labels_;
  const uint64_t seed_;
  const std::span<const int32_t> stored_;  // the feature of each number in the blocks; empty: the same
  NodeProblem problem_;
  std::vector<int32_t> rows_, row_number_, feature_number_;
};

}  // namespace labelwood
