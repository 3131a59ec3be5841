// Learns embeddings of features, and classifiers of labels over the mean embedding of a row's features.
#pragma once
#include <cstdint>
#include <span>

#include "sparse.h"
#include "training.h"
#include "tree.h"

namespace labelwood {

// At a node with c children, c − 1 vectors score all but the first, whose score is zero; the softmax of the scores is
// the chance of each child. So a node of a binary tree has one vector, and the chance of its second child is a sigmoid.
struct VectorsOfNodes {
  explicit VectorsOfNodes(const TreeView& tree);
  std::vector<int32_t> first;  // of each node, and one more at the end
};

struct SoftmaxOptions {
  int64_t width = 0;  // numbers of a vector, a multiple of eight
  int epochs = 5;
  float learning_rate = 0.1f;  // at the beginning; it falls to zero evenly
  bool all_labels = false;     // whether a row's step is for all of its labels, or for one of them drawn at random
  float decay = 0;  // how much of a vector each step takes away, a unit of the learning rate: keeps vectors short
  Scaling scaling = Scaling::kMean;  // of the weights of a row's features
  int64_t batch_rows =
      64;  // rows that are embedded together, before any of them is learned from; or fewer, if they have
  int64_t batch_entries = 1 << 13;  // so many features
  uint64_t seed = 0;
  std::span<const float> row_weights;  // how often an epoch has each row, on average; empty: once
};

// Both matrices are changed in place: `embeddings` is features × width, `vectors` has the vectors of nodes, node after
// node. Every leaf of the tree has one label and every label one leaf. The result is the same for any number of
// threads.
void train_softmax_tree(const CsrView& X, const CsrView& Y, const TreeView& tree, const SoftmaxOptions& options,
                        float* embeddings, float* vectors, int n_threads, Progress& progress);

// The same with a sigmoid for every label by itself: `vectors` is labels × width, and a row's step takes all labels.
void train_one_vs_rest(const CsrView& X, const CsrView& Y, const SoftmaxOptions& options, float* embeddings,
                       float* vectors, int n_threads, Progress& progress);

}  // namespace labelwood
