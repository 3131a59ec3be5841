// The labels whose prototypes have the largest inner products with a query: exactly those that a scan of all prototypes
// finds, with the same scores, for a small part of the memory traffic.
//
// A copy of each prototype in bytes is scanned first (coded_rows.h). Only labels whose products can still be among the
// k best by a bound on the error of bytes are scored by the prototypes themselves.
//
// Where most of the prototypes' length is in few directions, what is scanned are bytes of the parts in these alone.
// Labels that can be among the best by what their rests can add at most are looked at in bytes of the whole before they
// are scored.
//
// Labels may be in clusters, each in one of its own and in a second one. Then a query can be answered from the clusters
// alone whose centres, the unit-length sums of their own labels' prototypes, fit it best: no longer exactly, but
// without a look at most labels.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "answers.h"
#include "buffer.h"
#include "centroid.h"
#include "coded_rows.h"

namespace labelwood {

// What an index may have beside prototypes. `clusters` are two for each label, its own first, from 0 on; a label's
// second may be its own again, which is as if it had none. `directions` are columns, of unit length and at right
// angles.
struct IndexParts {
  std::span<const int32_t> clusters;
  DenseView directions;
};

class PrototypeIndex {
 public:
  // Prototypes are the caller's and stay where they are.
  PrototypeIndex(const DenseView& prototypes, const IndexParts& parts, int n_threads);

  // What rank_by_centroids answers, to the last bit. Adds to `n_rescored`, if given, how many labels were scored by
  // their prototypes.
  Answers topk(const DenseView& queries, const CentroidOptions& options, int n_threads,
               int64_t* n_rescored = nullptr) const;

  // The best labels of so many clusters. Where these have fewer labels that are allowed than a query has `needed`, all
  // labels are looked at.
  Answers topk_of_clusters(const DenseView& queries, const CentroidOptions& options, int64_t probes,
                           std::span<const int64_t> needed, int n_threads) const;

 private:
  struct Query {
    CodedRows::Query coarse, fine;
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

  struct Places {
    int64_t own = -1, second = -1;
  };

  static Grouped grouped(std::span<const int32_t> clusters, int which, int64_t n_clusters);
  void group(std::span<const int32_t> clusters, int n_threads);
  void gather(const Query& query, std::span<const int32_t> clusters, std::span<uint8_t> looked_into,
              std::vector<int32_t>& labels, std::vector<float>& bounds) const;
  bool has_directions() const { return directions_.size() > 0; }
  void direct(const DenseView& directions);
  void encode(int64_t begin, int64_t end, const DenseView& directions, std::span<const Places> places);
  float rest_of(const float* row, float* part) const;
  Query encoded(const float* query) const;
  int64_t choose(const float* row, const Query& query, const CentroidOptions& options, const Candidates& candidates,
                 TopK<float>& best) const;
  int64_t scan(const DenseView& queries, const CentroidOptions& options, int n_threads, Answers& out,
               int64_t first) const;

  DenseView prototypes_;
  std::vector<int32_t>
      labels_;  // of each place: all labels by their own clusters, or as they are; then again by the second
  std::vector<int32_t> own_;  // of each of the latter places: the label's own cluster
  std::vector<int64_t> starts_,
      seconds_;  // of each cluster: the first place of its own labels, and of the others; one more than clusters
  std::vector<uint8_t> filled_;              // of each cluster: whether it has labels of its own
  Buffer<float> centres_;                    // clusters × features
  std::unique_ptr<PrototypeIndex> nearest_;  // of the centres; none without clusters
  Buffer<float> directions_;                 // as rows
  float slack_ = 0;                          // of a product in them, where both vectors are of unit length
  CodedRows coarse_;                         // of each place, in the directions if there are such
  CodedRows fine_;                           // of each label, whole; only with directions
};

}  // namespace labelwood
