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

enum class Link { kL3Hinge, kSigmoid };

// How a tree is searched: parameters of labelwood.TreeClassifier, which has their defaults.
struct SearchOptions {
  std::optional<int64_t> beam;  // nodes opened at each depth; none: all that can matter
  Link link;
  float path_weight;  // how much scores on the way to a leaf count beside the label's own
  bool normalize;     // whether rows are brought to unit length first
};

// What is searched for.
struct SearchRequest {
  int64_t k;
  float min_score = 0;                    // labels that score less are no answers
  std::span<const uint8_t> allowed = {};  // per label: whether it may be an answer; empty: all
  float slack = 0;         // best first: it ends when nothing left scores `slack` (in logarithms) above the k-th answer
  bool best_first = true;  // else level by level; the answers are the same
};

struct SearchTree {
  TreeView tree;
  BlocksView blocks;
  bool with_copies = false;                  // whether some label lies in several leaves; the best of its scores counts
  std::optional<LeavesOfLabels> means = {};  // or, if these are given, the mean over the leaves that the beam reaches
};

// What was looked at, summed over rows.
struct SearchCosts {
  int64_t nodes = 0;     // opened that have children
  int64_t leaves = 0;    // opened
  int64_t children = 0;  // scored
  int64_t labels = 0;    // scored
  int64_t bytes = 0;     // of weights that a row's features met

  SearchCosts& operator+=(const SearchCosts& other) {
    nodes += other.nodes, leaves += other.leaves, children += other.children;
    labels += other.labels, bytes += other.bytes;
    return *this;
  }
};

// A label's score is its linked score in the leaf times those on the way there, to the power of the path's weight.
Answers search(const SearchTree& model, const CsrView& X, const SearchOptions& options, const SearchRequest& request,
               int n_threads, SearchCosts& costs);

// Seconds that each row's search takes, one after another on the calling thread.
Buffer<double> seconds(const SearchTree& model, const CsrView& X, const SearchOptions& options,
                       const SearchRequest& request);

// Nodes that the beam reaches, ascending in each row: those from `first` on, and leaves before; none of them is opened.
struct Reached {
  std::vector<int64_t> row_ptr{0};
  std::vector<int32_t> nodes;
};
Reached reached(const SearchTree& model, const CsrView& X, const SearchOptions& options, int32_t first, int n_threads);

// For each row the largest slack that leaves its answers as they are; infinite where any does.
Buffer<float> slacks(const SearchTree& model, const CsrView& X, const SearchOptions& options,
                     const SearchRequest& request, int n_threads);

}  // namespace labelwood
