#include "eagle.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "parallel.h"
#include "random.h"
#include "row_sum.h"

namespace labelwood {
namespace {

constexpr double kVanishing = 1e-3;  // a sum of rows this short beside its weights has no direction to trust

// One label: its groups, and the rows of these.
struct Label {
  int64_t id = 0;
  std::vector<int32_t> ends;   // of each group, the end of its slots
  std::vector<float> weights;  // of each group
  std::vector<int32_t> rows;   // of each slot

  int32_t n_groups() const { return static_cast<int32_t>(ends.size()); }
  int32_t begin(int32_t group) const { return group == 0 ? 0 : ends[group - 1]; }

  void take(const GroupedLabels& grouped, int64_t label) {
    id = label;
    ends.clear(), rows.clear();
    for (int32_t group : grouped.labels.row(label)) {
      const auto members = grouped.groups.row(group);
      rows.insert(rows.end(), members.begin(), members.end());
      ends.push_back(static_cast<int32_t>(rows.size()));
    }
    const auto values = grouped.labels.row_values(label);
    weights.assign(values.begin(), values.end());
  }
};

// The vector of one label, kept as a weight for each slot. All that the method asks of it are its cosines with the
// slots. A step changes these by the products of slots with the sum of the picked rows, so rows' features are gone over
// only when other rows are picked than before.
template <class Sum>
class VectorOfLabel {
 public:
  template <class Rows>
  VectorOfLabel(const Rows& X, const EagleOptions& options) : options_(options), sum_(X) {}

  void learn(const GroupedLabels& grouped, int64_t label) {
    label_.take(grouped, label);
    products_.assign(label_.rows.size(), 0.0f);
    weights_.assign(label_.rows.size(), 0.0);
    cosines_.assign(label_.rows.size(), 0.0);
    picks_.assign(label_.n_groups(), -1);
    if (!start()) return;
    for (int t = 0; t < options_.iterations; ++t) {
      poll_interrupt();
      if (pick()) multiply();
      if (!step()) break;
    }
    sum_.clear(label_.rows);
  }

  std::span<const double> weights() const { return weights_; }
  std::span<const double> cosines() const { return cosines_; }

 private:
  // From the sum of all rows, or from one row at random where they cancel out. False if no group counts.
  bool start() {
    double total = 0;
    for (int32_t group = 0; group < label_.n_groups(); ++group) {
      if (label_.weights[group] <= 0) continue;
      for (int32_t slot = label_.begin(group); slot < label_.ends[group]; ++slot) {
        weights_[slot] = label_.weights[group];
        total += label_.weights[group];
      }
    }
    if (total == 0) return false;
    double length = length_of_weighted();
    if (length < kVanishing * total) {
      std::fill(weights_.begin(), weights_.end(), 0.0);
      weights_[random_slot()] = 1;
      length = length_of_weighted();
    }
    begun_ = length > kVanishing;
    for (size_t slot = 0; slot < weights_.size(); ++slot) {
      weights_[slot] = begun_ ? weights_[slot] / length : 0;
      cosines_[slot] = begun_ ? products_[slot] / length : 0;
    }
    return true;
  }

  // Of the sum of all slots' rows by their weights. Leaves its products with the slots behind.
  double length_of_weighted() {
    for (size_t slot = 0; slot < weights_.size(); ++slot)
      if (weights_[slot] > 0) sum_.add(label_.rows[slot], static_cast<float>(weights_[slot]));
    multiply();
    sum_.clear(label_.rows);
    return std::sqrt(std::max(std::inner_product(weights_.begin(), weights_.end(), products_.begin(), 0.0), 0.0));
  }

  void multiply() {
    for (size_t slot = 0; slot < products_.size(); ++slot) products_[slot] = sum_.dot(label_.rows[slot]);
  }

  // Of a random group that counts.
  int32_t random_slot() const {
    Random random(options_.seed, label_.id);
    std::vector<int32_t> groups;
    for (int32_t group = 0; group < label_.n_groups(); ++group)
      if (label_.weights[group] > 0) groups.push_back(group);
    const int32_t group = groups[random.below(groups.size())];
    return label_.begin(group) + static_cast<int32_t>(random.below(label_.ends[group] - label_.begin(group)));
  }

  // The first slot of a group whose row is nearest. A row of unit length adds just its weight to its cosine.
  int32_t nearest(int32_t group) const {
    int32_t best = label_.begin(group);
    const double own = options_.leave_out ? 1 : 0;
    for (int32_t slot = best + 1; slot < label_.ends[group]; ++slot)
      if (cosines_[slot] - own * weights_[slot] > cosines_[best] - own * weights_[best]) best = slot;
    return best;
  }

  // Picks the nearest row of each group. Whether any is another than before.
  bool pick() {
    bool changed = false;
    for (int32_t group = 0; group < label_.n_groups(); ++group) {
      const float weight = label_.weights[group];
      if (weight == 0) continue;
      const int32_t best = nearest(group);
      if (best == picks_[group]) continue;
      if (picks_[group] >= 0) sum_.add(label_.rows[picks_[group]], -weight);
      sum_.add(label_.rows[best], weight);
      picks_[group] = best;
      changed = true;
    }
    return changed;
  }

  // Towards the picked rows. False if they cancel out: then no later step would go anywhere either.
  bool step() {
    double square = 0, along = 0, total = 0;
    for (int32_t group = 0; group < label_.n_groups(); ++group) {
      if (picks_[group] < 0) continue;
      square += label_.weights[group] * products_[picks_[group]];
      along += label_.weights[group] * cosines_[picks_[group]];
      total += std::abs(label_.weights[group]);
    }
    const double length = std::sqrt(std::max(square, 0.0));
    if (length <= kVanishing * total) return false;
    const double step = options_.step / length;
    const double grown = (begun_ ? 1 : 0) + 2 * step * along + options_.step * options_.step;
    if (grown <= kVanishing * kVanishing) return false;
    const double scale = 1 / std::sqrt(grown);
    for (double& weight : weights_) weight *= scale;
    for (size_t slot = 0; slot < cosines_.size(); ++slot)
      cosines_[slot] = (cosines_[slot] + step * products_[slot]) * scale;
    for (int32_t group = 0; group < label_.n_groups(); ++group)
      if (picks_[group] >= 0) weights_[picks_[group]] += step * scale * label_.weights[group];
    begun_ = true;
    return true;
  }

  const EagleOptions& options_;
  Sum sum_;  // of rows; zero between labels
  Label label_;
  std::vector<double> weights_, cosines_;  // of each slot
  std::vector<float> products_;            // of each slot's row with the sum
  std::vector<int32_t> picks_;             // of each group: a slot
  bool begun_ = false;                     // whether the vector is more than zeros
};

// Labels with many slots first, so that none is left to one thread at the end.
std::vector<int64_t> largest_first(const Buffer<int64_t>& slot_ptr) {
  std::vector<int64_t> order(slot_ptr.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int64_t label) { return slot_ptr[label + 1] - slot_ptr[label]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return size(a) > size(b); });
  return order;
}

template <class Sum, class Rows>
LabelVectors vectors_of_labels(const Rows& X, const GroupedLabels& grouped, const EagleOptions& options,
                               int n_threads) {
  const Buffer<int64_t> slot_ptr = grouped.slot_ptr();
  const int64_t n_slots = slot_ptr[slot_ptr.size() - 1];
  LabelVectors out{Buffer<float>(n_slots), Buffer<float>(n_slots)};
  const std::vector<int64_t> order = largest_first(slot_ptr);
  std::vector<std::optional<VectorOfLabel<Sum>>> workers(std::max(n_threads, 1));
  parallel_for(std::ssize(order), 1, n_threads, [&](int64_t i, int64_t, int worker) {
    if (!workers[worker]) workers[worker].emplace(X, options);
    auto& vector = *workers[worker];
    vector.learn(grouped, order[i]);
    std::ranges::copy(vector.weights(), out.weights.begin() + slot_ptr[order[i]]);
    std::ranges::copy(vector.cosines(), out.cosines.begin() + slot_ptr[order[i]]);
  });
  return out;
}

}  // namespace

Buffer<int64_t> GroupedLabels::slot_ptr() const {
  Buffer<int64_t> out(labels.n_rows() + 1);
  out[0] = 0;
  for (int64_t label = 0; label < labels.n_rows(); ++label) {
    out[label + 1] = out[label];
    for (int32_t group : labels.row(label)) out[label + 1] += std::ssize(groups.row(group));
  }
  return out;
}

LabelVectors eagle(const CsrView& X, const GroupedLabels& grouped, const EagleOptions& options, int n_threads) {
  return vectors_of_labels<SparseRowSum>(X, grouped, options, n_threads);
}

LabelVectors eagle(const DenseView& X, const GroupedLabels& grouped, const EagleOptions& options, int n_threads) {
  return vectors_of_labels<DenseRowSum>(X, grouped, options, n_threads);
}

Buffer<float> slot_products(const CsrView& X, const CsrView& vectors, const GroupedLabels& grouped, int n_threads) {
  const Buffer<int64_t> slot_ptr = grouped.slot_ptr();
  Buffer<float> out(slot_ptr[slot_ptr.size() - 1]);
  std::vector<std::optional<SparseRowSum>> sums(std::max(n_threads, 1));
  parallel_for(vectors.n_rows(), 1, n_threads, [&](int64_t label, int64_t, int worker) {
    if (!sums[worker]) sums[worker].emplace(X);
    sums[worker]->add(vectors.row(label), vectors.row_values(label), 1);
    int64_t slot = slot_ptr[label];
    for (int32_t group : grouped.labels.row(label))
      for (int32_t row : grouped.groups.row(group)) out[slot++] = sums[worker]->dot(row);
    sums[worker]->clear_at(vectors.row(label));
  });
  return out;
}

Buffer<float> slot_products(const DenseView& X, const DenseView& vectors, const GroupedLabels& grouped, int n_threads) {
  const auto& simd = simd::kernels();
  const Buffer<int64_t> slot_ptr = grouped.slot_ptr();
  Buffer<float> out(slot_ptr[slot_ptr.size() - 1]);
  parallel_for(vectors.n_rows, 1, n_threads, [&](int64_t label, int64_t, int) {
    int64_t slot = slot_ptr[label];
    for (int32_t group : grouped.labels.row(label))
      for (int32_t row : grouped.groups.row(group)) out[slot++] = simd.dot(X.row(row), vectors.row(label), X.n_cols);
  });
  return out;
}

}  // namespace labelwood
