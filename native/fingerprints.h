// What decides where a choice is arbitrary.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "random.h"
#include "sparse.h"

namespace labelwood {

// A number for each label made from its vector alone. Whatever must be decided arbitrarily is decided by it, so that
// labels in another order give the same tree. Only labels with equal vectors fall back on their ids.
class Fingerprints {
 public:
  explicit Fingerprints(const CsrView& vectors) : of_(vectors.n_rows()) {
    for (int64_t label = 0; label < vectors.n_rows(); ++label) {
      uint64_t sum = 0;
      const auto ids = vectors.row(label);
      const auto values = vectors.row_values(label);
      for (size_t j = 0; j < ids.size(); ++j)
        sum += mixed((static_cast<uint64_t>(ids[j]) << 32 | std::bit_cast<uint32_t>(values[j])) + 1);
      of_[label] = mixed(sum);
    }
  }

  uint64_t operator[](int32_t label) const { return of_[label]; }
  std::vector<int32_t> ordered() const {
    std::vector<int32_t> labels(of_.size());
    std::iota(labels.begin(), labels.end(), 0);
    std::sort(labels.begin(), labels.end(), [&](int32_t a, int32_t b) { return before(a, b); });
    return labels;
  }
  bool before(int32_t a, int32_t b) const { return of_[a] != of_[b] ? of_[a] < of_[b] : a < b; }

 private:
  std::vector<uint64_t> of_;
};

}  // namespace labelwood
