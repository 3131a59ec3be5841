// Trains the classifiers of all nodes of a tree.
#pragma once
#include "blocks.h"
#include "sparse.h"
#include "tree.h"

namespace labelwood {

struct TrainingOptions {
  float cost = 1;              // C: how much a row's loss weighs against small weights
  float positive_weight = 1;   // how much more positives weigh
  float bias = 1;              // value of a feature that every row has; 0 for none
  float tolerance = 0.1f;
  int max_iterations = 20;
  float threshold = 0.1f;      // weights smaller than this are dropped
  uint64_t seed = 0;
};

// `members` is labels × rows. A node's classifiers see the rows that have a label below it; a row is a positive of each
// sibling that its labels are below of.
Blocks train(const CsrView& X, const CsrView& members, const TreeView& tree, const TrainingOptions& options, int n_threads);

}  // namespace labelwood
