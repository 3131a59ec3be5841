// The labels whose prototypes have the largest inner products with a query: exactly those that a scan of all prototypes
// finds, with the same scores, for a quarter of the memory traffic.
//
// A copy of each prototype p in bytes, p ≈ s·c, is scanned first. A query is q ≈ t·d, d of 16 bits, and s·t·(c·d) is off
// by no more than
//     |q·p − s·t·(c·d)|  ≤  ‖t·d‖·‖p − s·c‖ + ‖q − t·d‖·‖p‖
// (the triangle and Cauchy's inequality), to which comes what rounding adds. Only labels whose products can still be among
// the k best by this bound are scored by the prototypes themselves.
//
// Labels may be in clusters, each in one of its own and in a second one. Then a query can be answered from the clusters alone
// whose centres, the unit-length sums of their own labels' prototypes, fit it best: no longer exactly, but without a look at
// most labels.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "answers.h"
#include "buffer.h"
#include "centroid.h"

namespace labelwood {

class PrototypeIndex {
 public:
  // Prototypes are the caller's and stay where they are. `clusters` has two for each label, its own first, from 0 on; or
  // nothing. A label's second may be its own again, which is as if it had none.
  PrototypeIndex(const DenseView& prototypes, std::span<const int32_t> clusters, int n_threads);

  // What rank_by_centroids answers, to the last bit. Adds to `n_rescored`, if given, how many labels were scored by their
  // prototypes.
  Answers topk(const DenseView& queries, const CentroidOptions& options, int n_threads, int64_t* n_rescored = nullptr) const;

  // The best labels of so many clusters. Where these have fewer labels that are allowed than a query has `needed`, all labels
  // are looked at.
  Answers topk_of_clusters(const DenseView& queries, const CentroidOptions& options, int64_t probes, std::span<const int64_t> needed,
                           int n_threads) const;

 private:
  struct Query {
    std::vector<int16_t> codes;
    float scale = 0, length = 0, missed = 0;  // t; no less than ‖t·d‖; no less than ‖q − t·d‖ and rounding
    bool sound = false;                       // otherwise there is no bound for it
  };
  // Labels that may be answers to a query, and bounds of their products.
  struct Candidates {
    std::span<const int32_t> labels;
    std::span<float> bounds;
  };

  // Labels by cluster: those of cluster c are at places from starts[c] to before starts[c + 1].
  struct Grouped {
    std::vector<int64_t> starts;
    std::vector<int32_t> labels;
  };

  static Grouped grouped(std::span<const int32_t> clusters, int which, int64_t n_clusters);
  void group(std::span<const int32_t> clusters, int n_threads);
  void gather(const Query& query, std::span<const int32_t> clusters, std::span<uint8_t> looked_into, std::vector<int32_t>& labels,
              std::vector<float>& bounds) const;
  void encode(int64_t place);
  Query encoded(const float* query) const;
  void bound(const Query& query, int64_t begin, int64_t end, float* bounds) const;
  int64_t choose(const float* query, const CentroidOptions& options, const Candidates& candidates, TopK<float>& best) const;
  int64_t scan(const DenseView& queries, const CentroidOptions& options, int n_threads, Answers& out, int64_t first) const;

  DenseView prototypes_;
  std::vector<int32_t> labels_;               // of each place: all labels by their own clusters, or as they are; then again by the second
  std::vector<int32_t> own_;                  // of each of the latter places: the label's own cluster
  std::vector<int64_t> starts_, seconds_;     // of each cluster: the first place of its own labels, and of the others; one more than clusters
  std::vector<uint8_t> filled_;               // of each cluster: whether it has labels of its own
  Buffer<float> centres_;                     // clusters × features
  std::unique_ptr<PrototypeIndex> nearest_;   // of the centres; none without clusters
  Buffer<int8_t> codes_;                      // places × features: c
  Buffer<float> scales_, lengths_, missed_;   // of each place: s; no less than ‖p‖ and ‖p − s·c‖
  float longest_ = 0;                         // of all lengths; infinite where one is not finite
  int16_t levels_ = 0;                        // the largest number in a query's codes
};

}  // namespace labelwood
