// Cuts labels into parts of equal size by halving them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "clustering.h"
#include "fingerprints.h"
#include "parallel.h"
#include "random.h"
#include "sparse.h"
#include "two_centers.h"

namespace labelwood {

// Spherical 2-means over some labels whose sides have given sizes.
class BalancedSplit {
 public:
  BalancedSplit(const CsrView& vectors, const Fingerprints& fingerprints, const ClusterOptions& options, int n_threads)
      : fingerprints_(fingerprints), options_(options), n_threads_(n_threads), centers_(vectors) {}

  // Cuts the labels into parts whose sizes differ by at most one; `ends` gets the end of each, counted from `offset`.
  void cut(Labels labels, int64_t parts, int64_t offset, Random& streams, std::vector<int64_t>& ends) {
    if (parts == 1) {
      ends.push_back(offset + std::ssize(labels));
      return;
    }
    const int64_t left = parts / 2;
    const int64_t most = std::ssize(labels) - (parts - left);
    const int64_t size = std::clamp(split(labels, left, parts, streams.next()), left, most);
    cut(labels.first(size), left, offset, streams, ends);
    cut(labels.subspan(size), parts - left, offset + size, streams, ends);
  }

 private:
  static constexpr int64_t kLabelsAtOnce = 4096;

  struct Scored {
    float score;  // how much nearer to plus than to minus
    int32_t label;
    int8_t side;  // +1, −1; 0 before the first round
  };

  // Reorders the labels so that the first ones are one side, and returns how many they are: the share left / parts of
  // all, rounded; a tie is decided by the label in the middle.
  int64_t split(Labels labels, int64_t left, int64_t parts, uint64_t stream) {
    start(labels, stream);
    double objective = -1;
    int64_t size = 0;
    for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
      const double reached = score(labels);
      size = arrange(left, parts);
      const bool moved = update_sums();
      if (!moved || (iteration > 1 && reached - objective < options_.tolerance)) break;
      objective = reached;
      centers_.update();
    }
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = scored_[i].label;
    centers_.clear();
    return size;
  }

  void start(Labels labels, uint64_t stream) {
    scored_.clear();
    for (int32_t label : labels) scored_.push_back({0, label, 0});
    centers_.start(labels, fingerprints_, stream);
  }

  // Inner products with both centers; returns the mean over labels with the center of their side.
  double score(Labels labels) {
    const int64_t n = static_cast<int64_t>(labels.size());
    std::vector<double> parts((n + kLabelsAtOnce - 1) / kLabelsAtOnce);
    parallel_for(n, kLabelsAtOnce, n_threads_, [&](int64_t begin, int64_t end, int) {
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        const auto [plus, minus] = centers_.products(scored_[i].label);
        scored_[i].score = plus - minus;
        sum += scored_[i].side > 0 ? plus : minus;
      }
      parts[begin / kLabelsAtOnce] = sum;
    });
    double total = 0;
    for (double part : parts) total += part;
    return total / static_cast<double>(n);
  }

  // Puts the nearest to plus first; how many is decided as split() says.
  int64_t arrange(int64_t left, int64_t parts) {
    const int64_t n = static_cast<int64_t>(scored_.size());
    const auto before = [&](const Scored& a, const Scored& b) {
      return a.score != b.score ? a.score > b.score : fingerprints_.before(a.label, b.label);
    };
    const int64_t whole = n * left / parts, twice_rest = 2 * (n * left % parts);
    int64_t size = std::min(whole, n - 1);
    std::nth_element(scored_.begin(), scored_.begin() + size, scored_.end(), before);
    if (twice_rest > parts || (twice_rest == parts && scored_[size].score > 0)) ++size;
    return size_ = std::clamp<int64_t>(size, 1, n - 1);
  }

  // Moves labels that changed sides from one sum to the other; whether any did.
  bool update_sums() {
    bool moved = false;
    for (int64_t i = 0; i < static_cast<int64_t>(scored_.size()); ++i) {
      Scored& s = scored_[i];
      const int8_t side = i < size_ ? 1 : -1;
      if (s.side == side) continue;
      moved = true;
      centers_.move(s.label, 1.0f, std::exchange(s.side, side), side);
    }
    return moved;
  }

  const Fingerprints& fingerprints_;
  const ClusterOptions& options_;
  const int n_threads_;
  TwoCenters<float> centers_;
  std::vector<Scored> scored_;
  int64_t size_ = 0;
};

}  // namespace labelwood
