// Clusters labels around centers.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "clustering.h"
#include "fingerprints.h"
#include "sparse.h"

namespace labelwood {

// Spherical k-means over the labels of one node. Centers are kept feature by feature, and only for the features that
// occur: (features of the node) × (centers) numbers. Of a large node, a sample finds the centers.
class KMeansSplit {
 public:
  KMeansSplit(const CsrView& vectors, const Fingerprints& fingerprints, const ClusterOptions& options, int n_threads);

  // Reorders the labels so that clusters lie one behind the other; `ends` gets the end of each, counted from `offset`.
  // One cluster or none is left where the labels cannot be told apart.
  void split(std::span<int32_t> labels, int64_t offset, uint64_t stream, std::vector<int64_t>& ends);

 private:
  static constexpr int kLanes = 16;
  struct alignas(kLanes * sizeof(float)) Lanes {
    float of[kLanes] = {};
  };
  static float* flat(std::vector<Lanes>& lanes) { return reinterpret_cast<float*>(lanes.data()); }
  static const float* flat(const std::vector<Lanes>& lanes) { return reinterpret_cast<const float*>(lanes.data()); }

  void choose_sample(std::span<const int32_t> labels, int64_t n_centers, uint64_t stream);
  void make_centers(int64_t n_centers);
  void find_centers();
  std::vector<int32_t> by_cluster(const std::vector<int32_t>& clusters, int64_t n) const;
  double assign(std::span<const int32_t> labels, std::vector<int32_t>& clusters) const;
  float nearest(int32_t label, std::vector<Lanes>& scores, int32_t& cluster) const;
  bool update(const std::vector<int32_t>& before);
  std::vector<int64_t> sizes() const;
  void add(int32_t label, int32_t cluster, float sign);
  void rescale();
  void dissolve(std::span<const int32_t> labels);
  void forget();
  void arrange(std::span<int32_t> labels, int64_t offset, int64_t n_clusters, std::vector<int64_t>& ends) const;

  const CsrView& vectors_;
  const Fingerprints& fingerprints_;
  const ClusterOptions& options_;
  const int n_threads_;
  std::vector<int32_t> number_;    // of each feature among those of the node, or −1
  std::vector<int32_t> features_;  // those of the node
  std::vector<int32_t> sample_;    // labels in a random order that depends on their vectors alone
  std::vector<int32_t> clusters_;  // of each label at hand
  std::vector<Lanes> sums_;        // feature by feature, the sum of each cluster
  std::vector<float> scales_;      // makes a sum a center of unit length; 0 for a cluster that is gone
  int64_t n_centers_ = 0;
  int64_t width_ = 0;  // the number of centers, filled up to whole lanes
};

}  // namespace labelwood
