// The labels whose prototypes have the largest inner products with a query: exactly those that a scan of all prototypes
// finds, with the same scores, for a quarter of the memory traffic.
//
// A copy of each prototype p in bytes, p ≈ s·c, is scanned first. A query is q ≈ t·d, d of 16 bits, and s·t·(c·d) is off
// by no more than
//     |q·p − s·t·(c·d)|  ≤  ‖t·d‖·‖p − s·c‖ + ‖q − t·d‖·‖p‖
// (the triangle and Cauchy's inequality), to which comes what rounding adds. Only labels whose products can still be among
// the k best by this bound are scored by the prototypes themselves.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "answers.h"
#include "buffer.h"
#include "centroid.h"

namespace labelwood {

class PrototypeIndex {
 public:
  // Prototypes are the caller's and stay where they are.
  PrototypeIndex(const DenseView& prototypes, int n_threads);

  // What rank_by_centroids answers, to the last bit. Adds to `n_rescored`, if given, how many labels were scored by their
  // prototypes.
  Answers topk(const DenseView& queries, const CentroidOptions& options, int n_threads, int64_t* n_rescored = nullptr) const;

 private:
  struct Query {
    std::vector<int16_t> codes;
    float scale = 0, length = 0, missed = 0;  // t; no less than ‖t·d‖; no less than ‖q − t·d‖ and rounding
    bool sound = false;                       // otherwise there is no bound for it
  };

  void encode(int64_t label);
  Query encoded(const float* query) const;
  void bound(const Query& query, int64_t begin, int64_t end, float* bounds) const;
  int64_t choose(const float* query, const CentroidOptions& options, std::span<float> bounds, TopK<float>& best) const;

  DenseView prototypes_;
  Buffer<int8_t> codes_;                      // labels × features: c
  Buffer<float> scales_, lengths_, missed_;   // of each label: s; no less than ‖p‖ and ‖p − s·c‖
  float longest_ = 0;                         // of all lengths; infinite where one is not finite
  int16_t levels_ = 0;                        // the largest number in a query's codes
};

}  // namespace labelwood
