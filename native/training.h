// Trains the classifiers of all nodes of a tree.
#pragma once
#include <atomic>
#include <span>

#include "blocks.h"
#include "sparse.h"
#include "tree.h"

namespace labelwood {

enum class Loss { kSquaredHinge, kLogistic };

struct TrainingOptions {
  Loss loss = Loss::kSquaredHinge;
  float cost = 1;             // C: how much a row's loss weighs against small weights
  float positive_weight = 1;  // how much more positives weigh
  float bias = 1;             // value of a feature that every row has; 0 for none
  float tolerance = 0.1f;
  int max_iterations = 20;
  float threshold = 0.1f;   // weights smaller than this are dropped
  int64_t max_weights = 0;  // of the others, so many of the largest of each classifier are kept; 0: all
  simd::Stored stored = simd::Stored::kFloat32;
  uint64_t seed = 0;
  std::span<const int32_t> feature_numbers;  // what each feature is called in the blocks; empty: as it is
  std::span<const float> row_weights;        // how much each row's loss weighs; empty: all the same
  // Which nodes are trained, and on which rows: those that have a label below the node, those that a matcher sends
  // there, or both.
  std::span<const int32_t> nodes;
  bool rows_with_labels = true;
  CsrView matched;  // trained nodes × rows; empty: none
};

// How far a training is; may be read while it runs.
struct Progress {
  std::atomic<int64_t> done{0}, total{0};
};

// `members` is labels × rows. A row is a positive of each sibling that its labels are below of. The blocks are those of
// the trained nodes.
Blocks train(const CsrView& X, const CsrView& members, const TreeView& tree, const TrainingOptions& options,
             int n_threads, Progress& progress);

}  // namespace labelwood
