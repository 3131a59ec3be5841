// Learns embeddings of features, and classifiers of labels over the weighted sum of a row's embeddings.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

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

// Whether a row's step is for all of its labels, or for one of them drawn at random.
enum class Targets { kAll, kDrawn };

// How softmax trees are trained: parameters of labelwood.SoftmaxTreeClassifier, which has their defaults. The sizes of
// batches are its own.
struct SoftmaxOptions {
  int epochs;
  float learning_rate;  // at the beginning; it falls to zero evenly
  Targets targets;
  float decay;      // how much of a vector each step takes away, a unit of the learning rate: keeps vectors short
  Scaling scaling;  // of the weights of a row's features
  // Rows that are embedded together, before any of them is learned from; or fewer, if they have so many features.
  int64_t batch_rows;
  int64_t batch_entries;
  uint64_t seed;
};

struct SoftmaxTraining : SoftmaxOptions {
  int64_t width;                       // numbers of a vector, a multiple of eight
  std::span<const float> row_weights;  // how often an epoch has each row, on average; empty: once
};

// Both matrices are changed in place: `embeddings` is features × width, `vectors` has the vectors of nodes, node after
// node. Every leaf of the tree has one label and every label one leaf. The result is the same for any number of
// threads.
void train_softmax_tree(const CsrView& X, const CsrView& Y, const TreeView& tree, const SoftmaxTraining& options,
                        float* embeddings, float* vectors, int n_threads, Progress& progress);

// The same with a sigmoid for every label by itself: `vectors` is labels × width, and a row's step takes all labels.
void train_one_vs_rest(const CsrView& X, const CsrView& Y, const SoftmaxTraining& options, float* embeddings,
                       float* vectors, int n_threads, Progress& progress);

}  // namespace labelwood
