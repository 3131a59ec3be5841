// Two centers of labels, and the sums they are made of.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fingerprints.h"
#include "random.h"
#include "sparse.h"

namespace labelwood {

using Labels = std::span<int32_t>;

// For the labels at hand; space is as long as there are features and is cleared after use.
template <class Number>
class TwoCenters {
 public:
  struct Pair {
    Number plus = 0, minus = 0;
  };

  explicit TwoCenters(const CsrView& vectors)
      : vectors_(vectors), centers_(vectors.n_cols), sums_(vectors.n_cols), seen_(vectors.n_cols) {}

  // Two labels, drawn by their vectors alone, are the centers to begin with; they come first afterwards.
  void start(Labels labels, const Fingerprints& fingerprints, uint64_t stream) {
    for (int32_t label : labels)
      each(label, [&](int32_t f, float) {
        if (!std::exchange(seen_[f], 1)) touched_.push_back(f);
      });
    const auto draw = [&](int32_t label) { return mixed(fingerprints[label] ^ stream); };
    const auto earlier = [&](int32_t a, int32_t b) { return draw(a) != draw(b) ? draw(a) < draw(b) : a < b; };
    std::nth_element(labels.begin(), labels.begin() + 1, labels.end(), earlier);
    each(labels[0], [&](int32_t f, float v) { centers_[f].plus = v; });
    each(labels[1], [&](int32_t f, float v) { centers_[f].minus = v; });
  }

  // A label's inner products with both centers.
  Pair products(int32_t label) const {
    Pair out;
    each(label, [&](int32_t f, float v) {
      out.plus += v * centers_[f].plus;
      out.minus += v * centers_[f].minus;
    });
    return out;
  }

  // Moves a label from the sum of one side (+1, −1; 0: none) to that of the other.
  void move(int32_t label, Number weight, int8_t from, int8_t to) {
    each(label, [&](int32_t f, float v) {
      const Number weighted = weight * v;
      (to > 0 ? sums_[f].plus : sums_[f].minus) += weighted;
      if (from > 0) sums_[f].plus -= weighted;
      if (from < 0) sums_[f].minus -= weighted;
    });
  }

  // The centers become the sums, at unit length; zero stays zero.
  void update() {
    double plus = 0, minus = 0;
    for (int32_t f : touched_) {
      plus += static_cast<double>(sums_[f].plus) * sums_[f].plus;
      minus += static_cast<double>(sums_[f].minus) * sums_[f].minus;
    }
    const Number plus_scale = static_cast<Number>(unit_scale(plus)),
                 minus_scale = static_cast<Number>(unit_scale(minus));
    for (int32_t f : touched_) centers_[f] = {sums_[f].plus * plus_scale, sums_[f].minus * minus_scale};
  }

  void clear() {
    for (int32_t f : touched_) {
      centers_[f] = sums_[f] = {};
      seen_[f] = 0;
    }
    touched_.clear();
  }

 private:
  template <class Visit>
  void each(int32_t label, Visit visit) const {
    const auto ids = vectors_.row(label);
    const auto values = vectors_.row_values(label);
    for (size_t j = 0; j < ids.size(); ++j) visit(ids[j], values[j]);
  }

  const CsrView& vectors_;
  std::vector<Pair> centers_, sums_;  // by feature; zero outside the labels at hand
  std::vector<uint8_t> seen_;         // likewise
  std::vector<int32_t> touched_;      // the features of the labels at hand
};

}  // namespace labelwood
