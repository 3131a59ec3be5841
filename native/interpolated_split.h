// Splits labels in two between likeness and frequency.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "clustering.h"
#include "fingerprints.h"
#include "parallel.h"
#include "sparse.h"
#include "two_centers.h"

namespace labelwood {

// Alternating maximisation of: likeness of labels to the center of their side, weighted, plus the spread of weights.
// A node's sides have weights as equal as whole labels allow, and neither is empty.
class InterpolatedSplit {
 public:
  InterpolatedSplit(const CsrView& vectors, const Fingerprints& fingerprints, const LabelWeights& weights,
                    const Interpolation& how, const ClusterOptions& options, int n_threads)
      : fingerprints_(fingerprints), weights_(weights), how_(how), options_(options), n_threads_(n_threads),
        centers_(vectors) {}

  // How many labels are on the first side, and which share of the weight they have.
  struct Side {
    int64_t size = 0;
    double share = 0;
  };

  // Reorders the labels so that those of one side come first.
  Side split(Labels labels, uint64_t stream) {
    start(labels, stream);
    double best = -std::numeric_limits<double>::infinity();
    Side side;
    for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
      score();
      const int64_t found = rounded(arrange());
      const double reached = objective({found, 0});
      const bool gained = reached - best >= options_.tolerance;
      if (reached > best) {
        best = reached;
        side = {found, share_of(found)};
        for (size_t i = 0; i < labels.size(); ++i) labels[i] = scored_[i].label;
      }
      if (!gained || likeness() == 0) break;
      update_sums(found);
      centers_.update();
    }
    centers_.clear();
    return side;
  }

  // How much of the objective is likeness, and how much the spread of weights.
  double likeness() const { return how_.midpoint ? 2 - how_.lam : (2 - how_.lam) / 2; }
  double spread() const { return how_.midpoint ? std::max(0.0, how_.lam - 1) : how_.lam / 2; }

 private:
  friend struct UnroundedSplit;  // of the tests
  static constexpr int64_t kLabelsAtOnce = 4096;
  struct Scored {
    double plus, minus;  // inner products with the centers
    double weight, key;
    int32_t label;
    int8_t side;  // +1, −1; 0 before the first round
    double nearer() const { return plus - minus; }
  };

  void start(Labels labels, uint64_t stream) {
    scored_.clear();
    for (int32_t label : labels) scored_.push_back({0, 0, 0, 0, label, 0});
    weigh();
    centers_.start(labels, fingerprints_, stream);
  }

  // The weights of the labels at hand, which add up to one.
  void weigh() {
    const double n = static_cast<double>(scored_.size());
    double frequency = 0, covering = 0, total = 0;
    for (const Scored& s : scored_) {
      frequency += weights_.frequency[s.label];
      covering += weights_.covering[s.label];
    }
    const auto share = [&](double of, double all) { return all > 0 ? of / all : 1 / n; };
    const double power = how_.midpoint ? std::min(how_.lam, 1.0) : 0.0;
    for (Scored& s : scored_) {
      s.weight = likeness() * std::pow(share(weights_.frequency[s.label], frequency), power) / (how_.midpoint ? 1 : n) +
                 spread() * share(weights_.covering[s.label], covering) + how_.smoothing / n;
      total += s.weight;
    }
    for (Scored& s : scored_) s.weight = total > 0 ? s.weight / total : 1 / n;
  }

  void score() {
    parallel_for(std::ssize(scored_), kLabelsAtOnce, n_threads_, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        Scored& s = scored_[i];
        const auto [plus, minus] = centers_.products(s.label);
        s.plus = plus;
        s.minus = minus;
        s.key = likeness() / 2 * s.nearer() + spread() * s.weight;
      }
    });
  }

  bool before(const Scored& a, const Scored& b) const {
    if (a.key != b.key) return a.key > b.key;
    if (a.nearer() != b.nearer()) return a.nearer() > b.nearer();
    return fingerprints_.before(a.label, b.label);
  }

  // The first side: so many whole labels, and a share of the next.
  struct Cut {
    int64_t whole = 0;
    double share = 0;
  };

  // Puts those with the largest keys first, and cuts where they have half the weight.
  Cut arrange() {
    double passed = 0;
    int64_t begin = 0, end = std::ssize(scored_);
    while (end - begin > 1) {
      const int64_t middle = begin + (end - begin) / 2;
      std::nth_element(scored_.begin() + begin, scored_.begin() + middle, scored_.begin() + end,
                       [&](const Scored& a, const Scored& b) { return before(a, b); });
      double left = 0;
      for (int64_t i = begin; i < middle; ++i) left += scored_[i].weight;
      if (passed + left > 0.5) {
        end = middle;
      } else {
        passed += left;
        begin = middle;
      }
    }
    return {begin, (0.5 - passed) / scored_[begin].weight};
  }

  // The nearest cut between labels that leaves no side empty; a tie is decided by which center is nearer.
  int64_t rounded(const Cut& cut) const {
    const bool tie = std::abs(cut.share - 0.5) < kTie;
    const bool first = tie ? scored_[cut.whole].nearer() > 0 : cut.share > 0.5;
    return std::clamp<int64_t>(cut.whole + first, 1, std::ssize(scored_) - 1);
  }

  // Rounded, so that it does not depend on the order of addition.
  double share_of(int64_t size) const {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += scored_[i].weight;
    return std::round(sum * 0x1p30) / 0x1p30;
  }

  double objective(const Cut& cut) const {
    double sum = 0;
    for (int64_t i = 0; i < std::ssize(scored_); ++i) {
      const Scored& s = scored_[i];
      const double first = i < cut.whole ? 1 : i == cut.whole ? cut.share : 0;
      sum += s.weight * likeness() * (first * s.plus + (1 - first) * s.minus) +
             (2 * first - 1) * spread() * s.weight * s.weight;
    }
    return sum;
  }

  // Moves labels that changed sides from one sum to the other.
  void update_sums(int64_t size) {
    for (int64_t i = 0; i < std::ssize(scored_); ++i) {
      Scored& s = scored_[i];
      const int8_t side = i < size ? 1 : -1;
      if (s.side != side) centers_.move(s.label, s.weight, std::exchange(s.side, side), side);
    }
  }

  static constexpr double kTie = 1e-9;

  const Fingerprints& fingerprints_;
  const LabelWeights& weights_;
  const Interpolation& how_;
  const ClusterOptions& options_;
  const int n_threads_;
  TwoCenters<double> centers_;
  std::vector<Scored> scored_;
};

}  // namespace labelwood
