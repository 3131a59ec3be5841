// Trains the classifiers of all nodes of a tree.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "blocks.h"
#include "sparse.h"
#include "tree.h"

namespace labelwood {

enum class Loss { kSquaredHinge, kLogistic };

// How classifiers are trained: parameters of labelwood.TreeClassifier, which has their defaults.
struct TrainingOptions {
  Loss loss;
  float cost;             // C: how much a row's loss weighs against small weights
  float positive_weight;  // how much more positives weigh
  float bias;             // value of a feature that every row has; 0 for none
  float tolerance;
  int max_passes;
  float threshold;                     // weights smaller than this are dropped
  std::optional<int64_t> max_weights;  // of the others, so many of the largest of each classifier are kept; none: all
  simd::Precision precision;
  uint64_t seed;
};

// What they are trained on. A row is a positive of each sibling that its labels are below of.
struct TrainingData {
  CsrView X;
  CsrView members;  // labels × rows
  TreeView tree;
  std::span<const int32_t> feature_numbers;  // what each feature is called in the blocks; empty: as it is
  std::span<const float> row_weights;        // how much each row's loss weighs; empty: all the same
};

// Which nodes are trained, and on which rows: those that have a label below the node, those that a matcher sends there,
// or both.
struct TrainedNodes {
  std::span<const int32_t> nodes;
  bool rows_with_labels;
  CsrView sent;  // trained nodes × rows; empty: none
};

// How far a training is; may be read while it runs.
struct Progress {
  std::atomic<int64_t> done{0}, total{0};
};

// The blocks of the trained nodes.
Blocks train(const TrainingData& data, const TrainingOptions& options, const TrainedNodes& wanted, int n_threads,
             Progress& progress);

}  // namespace labelwood
