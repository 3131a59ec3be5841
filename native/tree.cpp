#include "tree.h"

#include "error.h"

namespace labelwood {
namespace {

void require(bool holds) {
  if (!holds) throw Error("the label tree is not sound: build it again");
}

}  // namespace

void check_tree(const TreeView& tree, int64_t n_labels) {
  const auto& [child_ptr, label_ptr, labels] = tree;
  require(child_ptr.size() > 1 && label_ptr.size() == child_ptr.size());
  const auto n_nodes = static_cast<int64_t>(child_ptr.size()) - 1;
  require(child_ptr.front() == 1 && child_ptr.back() == n_nodes);
  require(label_ptr.front() == 0 && label_ptr.back() == std::ssize(labels));
  for (int64_t node = 0; node < n_nodes; ++node) {
    const bool is_leaf = child_ptr[node] == child_ptr[node + 1], has_labels = label_ptr[node] < label_ptr[node + 1];
    require(child_ptr[node] <= child_ptr[node + 1] && label_ptr[node] <= label_ptr[node + 1]);
    require(is_leaf == has_labels && (is_leaf || child_ptr[node] > node));
  }
  for (int32_t label : labels) require(label >= 0 && label < n_labels);
}

}  // namespace labelwood
