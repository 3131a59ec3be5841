// Finds the best labels of rows in a tree of linear classifiers.
#pragma once
#include <cstdint>
#include <span>

#include "answers.h"
#include "blocks.h"
#include "sparse.h"
#include "tree.h"

namespace labelwood {

enum class Transform { kL3Hinge, kSigmoid };

struct SearchOptions {
  int64_t k = 5;
  int64_t beam = 10;   // nodes opened at each depth; 0: all that can matter
  Transform transform = Transform::kL3Hinge;
  float path_weight = 1;   // how much scores on the way to a leaf count beside the label's own
  bool best_first = true;  // else level by level; the answers are the same
  float min_score = 0;     // labels that score less are no answers
  bool unit_rows = false;  // whether rows are brought to unit length first
  std::span<const uint8_t> allowed;  // per label: whether it may be an answer; empty: all
};

struct SearchTree {
  TreeView tree;
  BlocksView blocks;
};

// What was looked at, summed over rows.
struct SearchCounts {
  int64_t nodes = 0, siblings = 0;
};

// A label's score is its transformed score in the leaf times those on the way there, to the power of the path's weight.
Answers search(const SearchTree& model, const CsrView& X, const SearchOptions& options, int n_threads, SearchCounts& counts);

}  // namespace labelwood
