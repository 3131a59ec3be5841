#include "overlap.h"

#include <algorithm>
#include <numeric>

#include "parallel.h"

namespace labelwood {
namespace {

// Counts the leaves of one label after the other.
class Counter {
 public:
  Counter(const CsrView& members, const CsrView& reached, const CsrView& own)
      : members_(members), reached_(reached), own_(own), counts_(reached.n_cols), is_own_(reached.n_cols) {}

  // The leaves of a label in order; valid until the next call.
  const std::vector<int32_t>& leaves_of(int32_t label, int64_t most) {
    for (int32_t leaf : leaves_) counts_[leaf] = 0;
    leaves_.clear();
    for (int32_t row : members_.row(label))
      for (int32_t leaf : reached_.row(row))
        if (counts_[leaf]++ == 0) leaves_.push_back(leaf);
    for (int32_t leaf : own_.row(label)) is_own_[leaf] = 1;
    const auto end = most > 0 && most < std::ssize(leaves_) ? leaves_.begin() + most : leaves_.end();
    std::partial_sort(leaves_.begin(), end, leaves_.end(), [&](int32_t a, int32_t b) {
      if (counts_[a] != counts_[b]) return counts_[a] > counts_[b];
      return is_own_[a] != is_own_[b] ? is_own_[a] > is_own_[b] : a < b;
    });
    for (int32_t leaf : own_.row(label)) is_own_[leaf] = 0;
    for (auto left_out = end; left_out != leaves_.end(); ++left_out) counts_[*left_out] = 0;
    leaves_.erase(end, leaves_.end());
    return leaves_;
  }

  int32_t count(int32_t leaf) const { return counts_[leaf]; }

 private:
  const CsrView &members_, &reached_, &own_;
  std::vector<int32_t> counts_, leaves_;
  std::vector<uint8_t> is_own_;
};

// Puts labels into leaves that have a limit.
class Fitting {
 public:
  Fitting(const CsrView& own, std::span<const int64_t> room)
      : own_(own), room_(room.begin(), room.end()), taken_(own.n_rows()) {}

  bool take(int32_t label, int32_t leaf, int64_t up_to) {
    auto& leaves = taken_[label];
    if (room_[leaf] == 0 || std::ssize(leaves) >= up_to || std::ranges::find(leaves, leaf) != leaves.end())
      return false;
    --room_[leaf];
    leaves.push_back(leaf);
    return true;
  }

  void take_any(int32_t label) {
    if (!taken_[label].empty()) return;
    for (int32_t leaf : own_.row(label))
      if (take(label, leaf, 1)) return;
    while (room_[first_with_room_] == 0) ++first_with_room_;
    take(label, first_with_room_, 1);
  }

  const std::vector<int32_t>& leaves_of(int32_t label) const { return taken_[label]; }

 private:
  const CsrView& own_;
  std::vector<int64_t> room_;
  std::vector<std::vector<int32_t>> taken_;
  int32_t first_with_room_ = 0;
};

}  // namespace

Places counted(const CsrView& members, const CsrView& reached, const CsrView& own, int64_t most, int n_threads) {
  constexpr int64_t kLabelsAtOnce = 256;
  const int64_t n_labels = members.n_rows();
  std::vector<Places> chunks((n_labels + kLabelsAtOnce - 1) / kLabelsAtOnce);
  parallel_for(n_labels, kLabelsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    Counter counter(members, reached, own);
    Places& chunk = chunks[begin / kLabelsAtOnce];
    for (int64_t label = begin; label < end; ++label) {
      for (int32_t leaf : counter.leaves_of(static_cast<int32_t>(label), most)) {
        chunk.leaves.push_back(leaf);
        chunk.counts.push_back(counter.count(leaf));
      }
      chunk.label_ptr.push_back(std::ssize(chunk.leaves));
    }
  });
  Places out;
  for (const Places& chunk : chunks) {
    const int64_t first = out.label_ptr.back();
    for (size_t i = 1; i < chunk.label_ptr.size(); ++i) out.label_ptr.push_back(first + chunk.label_ptr[i]);
    out.leaves.insert(out.leaves.end(), chunk.leaves.begin(), chunk.leaves.end());
    out.counts.insert(out.counts.end(), chunk.counts.begin(), chunk.counts.end());
  }
  return out;
}

Places fitted(const Places& counts, const CsrView& own, int64_t copies, std::span<const int64_t> room) {
  const int64_t n_labels = own.n_rows();
  std::vector<int32_t> label_of(counts.leaves.size());
  for (int32_t label = 0; label < n_labels; ++label)
    std::fill(label_of.begin() + counts.label_ptr[label], label_of.begin() + counts.label_ptr[label + 1], label);
  std::vector<int64_t> order(counts.leaves.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return counts.counts[a] > counts.counts[b]; });
  Fitting fitting(own, room);
  for (int64_t i : order) fitting.take(label_of[i], counts.leaves[i], 1);
  for (int32_t label = 0; label < n_labels; ++label) fitting.take_any(label);
  for (int64_t i : order) fitting.take(label_of[i], counts.leaves[i], copies);

  Places out;
  for (int32_t label = 0; label < n_labels; ++label) {
    const auto begin = counts.leaves.begin() + counts.label_ptr[label],
               end = counts.leaves.begin() + counts.label_ptr[label + 1];
    for (int32_t leaf : fitting.leaves_of(label)) {
      const auto known = std::find(begin, end, leaf);
      out.leaves.push_back(leaf);
      out.counts.push_back(known == end ? 0 : counts.counts[known - counts.leaves.begin()]);
    }
    out.label_ptr.push_back(std::ssize(out.leaves));
  }
  return out;
}

}  // namespace labelwood
