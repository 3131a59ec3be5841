// Finds the most likely labels of rows in a softmax tree.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "answers.h"
#include "kept_features.h"
#include "sparse.h"
#include "stored_rows.h"
#include "tree.h"

namespace labelwood {

struct SoftmaxModel {
  StoredRows embeddings;                   // features × width
  std::optional<KeptFeatures> kept;        // the features that have embeddings, in order; none given: all have theirs
  Scaling scaling;                         // of the weights of a row's features
  StoredRows vectors;                      // of the tree's nodes, as VectorsOfNodes has them; without a tree, of labels
  TreeView tree;                           // without nodes: a sigmoid for every label
  std::span<const int32_t> first_vectors;  // of the tree's nodes
  bool with_copies = false;                // whether some label has several leaves; the best of its scores counts
};

// What is searched for.
struct SoftmaxRequest {
  int64_t k;
  std::optional<int64_t> beam;            // nodes opened at each depth; none: all that can matter
  float min_score = 0;                    // labels that score less are no answers
  std::span<const uint8_t> allowed = {};  // per label: whether it may be an answer; empty: all
  bool best_first = true;                 // else level by level; the answers are the same
};

// A label's score is the product of the chances on the way to its leaf. `opened` counts the nodes opened in all.
Answers search(const SoftmaxModel& model, const CsrView& X, const SoftmaxRequest& request, int n_threads,
               int64_t& opened);

// The embedding of each row: the weighted sum of its features' embeddings.
Buffer<float> embed(const SoftmaxModel& model, const CsrView& X, int n_threads);

}  // namespace labelwood
