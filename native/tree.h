// A label tree as native code sees it: the arrays of labelwood.trees.LabelTree, checked there.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace labelwood {

struct TreeView {
  std::span<const int32_t> child_ptr;  // children of node i are the nodes child_ptr[i] … child_ptr[i + 1] − 1
  std::span<const int64_t> label_ptr;  // labels of node i are labels[label_ptr[i]] …
  std::span<const int32_t> labels;

  int32_t n_nodes() const { return static_cast<int32_t>(child_ptr.size()) - 1; }
  bool is_leaf(int32_t node) const { return child_ptr[node] == child_ptr[node + 1]; }
  int32_t n_children(int32_t node) const { return child_ptr[node + 1] - child_ptr[node]; }
  std::span<const int32_t> labels_of(int32_t node) const {
    return labels.subspan(label_ptr[node], label_ptr[node + 1] - label_ptr[node]);
  }
  // Siblings are what a node's block scores together: its children, or the labels of a leaf.
  int32_t n_siblings(int32_t node) const {
    return is_leaf(node) ? static_cast<int32_t>(label_ptr[node + 1] - label_ptr[node]) : n_children(node);
  }
};

// Throws unless parents come before their children, every node but the root has one parent, leaves and only they hold
// labels, and these are below n_labels.
void check_tree(const TreeView& tree, int64_t n_labels);

// Of each node whether a label that is allowed is below it; empty where all are.
inline std::vector<uint8_t> nodes_with(const TreeView& tree, std::span<const uint8_t> allowed) {
  if (allowed.empty()) return {};
  std::vector<uint8_t> open(tree.n_nodes());
  for (int32_t node = tree.n_nodes() - 1; node >= 0; --node) {
    for (int32_t label : tree.labels_of(node)) open[node] |= allowed[label];
    for (int32_t child = tree.child_ptr[node]; child < tree.child_ptr[node + 1]; ++child) open[node] |= open[child];
  }
  return open;
}

// The labels below each node as one range of a list: leaves in the order of a walk through the tree.
class SubtreeLabels {
 public:
  explicit SubtreeLabels(const TreeView& tree) : begin_(tree.n_nodes()), end_(tree.n_nodes()) {
    // Sizes from the last node to the first, as children come after parents; then places from the first to the last.
    std::vector<int64_t> size(tree.n_nodes());
    for (int32_t node = tree.n_nodes() - 1; node >= 0; --node) {
      size[node] = tree.label_ptr[node + 1] - tree.label_ptr[node];
      for (int32_t child = tree.child_ptr[node]; child < tree.child_ptr[node + 1]; ++child) size[node] += size[child];
    }
    labels_.resize(tree.labels.size());
    end_[0] = size[0];
    for (int32_t node = 0; node < tree.n_nodes(); ++node) {
      int64_t place = begin_[node];
      for (int32_t label : tree.labels_of(node)) labels_[place++] = label;
      for (int32_t child = tree.child_ptr[node]; child < tree.child_ptr[node + 1]; ++child) {
        begin_[child] = place;
        end_[child] = place += size[child];
      }
    }
  }

  std::span<const int32_t> of(int32_t node) const {
    return std::span(labels_).subspan(begin_[node], end_[node] - begin_[node]);
  }

 private:
  std::vector<int64_t> begin_, end_;
  std::vector<int32_t> labels_;
};

}  // namespace labelwood
