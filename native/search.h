// Finds the best labels of rows in a tree of linear classifiers.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "answers.h"
#include "blocks.h"
#include "copy_means.h"
#include "sparse.h"
#include "tree.h"

namespace labelwood {

enum class Transform { kL3Hinge, kSigmoid };

struct SearchOptions {
  int64_t k = 5;
  int64_t beam = 10;  // nodes opened at each depth; 0: all that can matter
  Transform transform = Transform::kL3Hinge;
  float path_weight = 1;             // how much scores on the way to a leaf count beside the label's own
  bool best_first = true;            // else level by level; the answers are the same
  float min_score = 0;               // labels that score less are no answers
  bool unit_rows = false;            // whether rows are brought to unit length first
  std::span<const uint8_t> allowed;  // per label: whether it may be an answer; empty: all
  float slack = 0;  // best first: it ends when nothing left scores `slack` (in logarithms) above the k-th answer
};

struct SearchTree {
  TreeView tree;
  BlocksView blocks;
  bool with_copies = false;                  // whether some label lies in several leaves; the best of its scores counts
  std::optional<LeavesOfLabels> means = {};  // or, if these are given, the mean over the leaves that the beam reaches
};

// What was looked at, summed over rows.
struct SearchCounts {
  int64_t nodes = 0;     // opened that have children
  int64_t leaves = 0;    // opened
  int64_t children = 0;  // scored
  int64_t labels = 0;    // scored
  int64_t bytes = 0;     // of weights that a row's features met

  SearchCounts& operator+=(const SearchCounts& other) {
    nodes += other.nodes, leaves += other.leaves, children += other.children;
    labels += other.labels, bytes += other.bytes;
    return *this;
  }
};

// A label's score is its transformed score in the leaf times those on the way there, to the power of the path's weight.
Answers search(const SearchTree& model, const CsrView& X, const SearchOptions& options, int n_threads,
               SearchCounts& counts);

// Seconds that each row's search takes, one after another on the calling thread.
Buffer<double> seconds(const SearchTree& model, const CsrView& X, const SearchOptions& options);

// Nodes that the beam reaches, ascending in each row: those from `first` on, and leaves before; none of them is opened.
struct Reached {
  std::vector<int64_t> row_ptr{0};
  std::vector<int32_t> nodes;
};
Reached reached(const SearchTree& model, const CsrView& X, const SearchOptions& options, int32_t first, int n_threads);

// For each row the largest slack that leaves its answers as they are; infinite where any does.
Buffer<float> slacks(const SearchTree& model, const CsrView& X, const SearchOptions& options, int n_threads);

}  // namespace labelwood
