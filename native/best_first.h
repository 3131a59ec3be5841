// The order in which a search opens the nodes of a tree, whatever scores them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "topk.h"

namespace labelwood {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Candidate {
  float score;  // the logarithm of the product of all scores on the way to the node; nothing below it scores higher
  int32_t depth, node;
};

// Of equal scores the shallower comes first: its children may score as high, and must stand in line before deeper nodes
// are counted against the beam.
inline bool opens_before(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.depth != b.depth ? a.depth < b.depth : a.node < b.node;
}
inline bool opens_after(const Candidate& a, const Candidate& b) { return opens_before(b, a); }

struct OpeningOrder {
  int64_t k;
  int64_t beam;     // nodes opened at each depth; 0: all that can matter
  bool best_first;  // else level by level; the answers are the same
  float floor;      // labels that score less are no answers
  float slack;      // best first: it ends when nothing left scores `slack` above the k-th answer
};

// Memory that a thread's searches use one after another.
struct OpeningSpace {
  std::vector<Candidate> heap, level;
  std::vector<int64_t> opened;
};

// A search derives from this and has `bool open(const Candidate& parent, Push push)`: it offers the labels of a leaf to
// best(), or calls push(child) for the children of any other node, and returns whether the answers changed.
template <class Search>
class BestFirst {
 public:
  BestFirst(const OpeningOrder& order, OpeningSpace& space)
      : order_(order), best_(order.k), heap_(space.heap), level_(space.level), opened_(space.opened) {}

  TopK<float>& best() { return best_; }
  // The largest slack that would not have changed the answers.
  float slack() const { return slack_; }

 protected:
  void open_nodes() {
    if (order_.best_first)
      best_first();
    else
      level_by_level();
  }

  // What a score must reach to be an answer; nothing below a node can score higher than the node.
  float bar() const { return best_.full() ? std::max(order_.floor, best_.worst().score) : order_.floor; }

  const OpeningOrder order_;
  TopK<float> best_;

 private:
  Search& self() { return static_cast<Search&>(*this); }

  // The best node that is left is opened, unless `beam` others of its depth were; it ends when nothing left can enter.
  void best_first() {
    heap_.assign(1, {0.0f, 0, 0});
    opened_.clear();
    slack_ = kInfinity;
    float least_lead = kInfinity;  // of the nodes so far, over the k-th answer
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), opens_after);
      const Candidate next = heap_.back();
      heap_.pop_back();
      if (next.score < bar()) break;
      if (best_.full()) least_lead = std::min(least_lead, next.score - best_.worst().score);
      if (least_lead < order_.slack) break;
      if (opened_.size() <= static_cast<size_t>(next.depth)) opened_.resize(next.depth + 1);
      if (order_.beam > 0 && opened_[next.depth]++ >= order_.beam) continue;
      level_.clear();
      if (self().open(next, [&](const Candidate& child) { level_.push_back(child); })) slack_ = least_lead;
      keep_beam(level_);
      for (const Candidate& child : level_) {
        heap_.push_back(child);
        std::push_heap(heap_.begin(), heap_.end(), opens_after);
      }
    }
  }

  // The `beam` best nodes of each level are opened.
  void level_by_level() {
    level_.assign(1, {0.0f, 0, 0});
    while (!level_.empty()) {
      heap_.clear();
      for (const Candidate& node : level_) self().open(node, [&](const Candidate& child) { heap_.push_back(child); });
      keep_beam(heap_);
      std::swap(level_, heap_);
    }
  }

  // No more than the `beam` best of one depth are ever opened, so none of the others needs to be kept.
  void keep_beam(std::vector<Candidate>& nodes) const {
    if (order_.beam == 0 || nodes.size() <= static_cast<size_t>(order_.beam)) return;
    std::nth_element(nodes.begin(), nodes.begin() + order_.beam, nodes.end(), opens_before);
    nodes.resize(order_.beam);
  }

  std::vector<Candidate>&heap_, &level_;
  std::vector<int64_t>& opened_;
  float slack_ = kInfinity;
};

}  // namespace labelwood
