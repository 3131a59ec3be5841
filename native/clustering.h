// Label trees by clustering label vectors.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "buffer.h"
#include "sparse.h"

namespace labelwood {

// A tree in the arrays of labelwood.trees.LabelTree.
struct Tree {
  Buffer<int32_t> child_ptr;
  Buffer<int64_t> label_ptr;
  Buffer<int32_t> labels;
};

// How often labels occur: in rows, and as the one label that a row is counted for.
struct LabelWeights {
  std::span<const double> frequency, covering;
};

struct Interpolation {
  double lam;        // 0: halves of equal size; 1: weighted 2-means; 2: halves of equal weight, a Fano code
  double smoothing;  // weight that a node's labels share evenly, beside their own
  bool midpoint;     // whether the way from 0 to 2 leads through weighted 2-means
};

struct ClusterOptions {
  int32_t arity;     // children of a node
  int32_t max_leaf;  // a node with so many labels or fewer is a leaf
  // K-means has parameters of these names; for trees of other kinds they stay as they are.
  int32_t min_size = 1;         // smaller clusters are dissolved
  int32_t max_depth = 64;       // nodes this deep are cut into parts of equal size
  int32_t max_iterations = 20;  // of 2-means
  float tolerance = 1e-4f;
  uint64_t seed;
};

// Every node's labels are cut into `arity` parts whose sizes differ by at most one, by spherical 2-means that is
// balanced by sorting; arity 2 is Parabel's. `vectors` has a row of unit length (or zero) for each label.
Tree balanced_tree(const CsrView& vectors, const ClusterOptions& options, int n_threads);

// Every node's labels are clustered by spherical k-means around at most `arity` centers, with clusters as large as they
// come out; those that are much too large, and a node of which fewer than two are left, are cut into parts of equal
// size. Labels whose vector is zero lie together.
Tree kmeans_tree(const CsrView& vectors, const ClusterOptions& options, int n_threads);

// Every node's labels are split in two between likeness and frequency, and the heaviest part again, until there are
// `arity` parts; `how.lam` 0 is balanced_tree.
Tree interpolated_tree(const CsrView& vectors, const LabelWeights& weights, const Interpolation& how,
                       const ClusterOptions& options, int n_threads);

}  // namespace labelwood
