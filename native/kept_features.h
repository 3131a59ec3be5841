// Which features a compressed model keeps, and the place of each among them. The table has about as many entries as
// features are kept, however many there are: their number is only a claim of the file that they come from.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "error.h"

namespace labelwood {

class KeptFeatures {
 public:
  KeptFeatures() = default;

  // Throws Error unless the features ascend and are below `n_features`. Their array must stay where it is.
  KeptFeatures(std::span<const int32_t> kept, int64_t n_features) : kept_(kept) {
    int64_t last = -1;
    for (int32_t feature : kept) {
      if (feature <= last || feature >= n_features) throw Error("the model keeps features that it does not have");
      last = feature;
    }
    while ((last >> shift_) > 2 * std::ssize(kept)) ++shift_;
    starts_.resize((last >> shift_) + 2);
    for (int32_t feature : kept) ++starts_[(feature >> shift_) + 1];
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  }

  // The feature's place, or −1.
  int32_t place_of(int32_t feature) const {
    const size_t bucket = static_cast<uint32_t>(feature) >> shift_;
    if (bucket + 1 >= starts_.size()) return -1;
    const auto end = kept_.begin() + starts_[bucket + 1];
    const auto found = std::lower_bound(kept_.begin() + starts_[bucket], end, feature);
    return found != end && *found == feature ? static_cast<int32_t>(found - kept_.begin()) : -1;
  }

 private:
  std::span<const int32_t> kept_;
  int shift_ = 0;
  std::vector<int32_t> starts_;  // of each run of 2^shift features, its first place
};

}  // namespace labelwood
