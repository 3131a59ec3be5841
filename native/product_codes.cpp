#include "product_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "parallel.h"
#include "random.h"
#include "sparse.h"
#include "stored_rows.h"

namespace labelwood {
namespace {

constexpr int64_t kCenters = StoredRows::kCenters;
constexpr int64_t kSample = kCenters * 64;  // rows that centers are found from
constexpr int kRounds = 15;

// One part of all rows: its centers by k-means, and the nearest of each row.
class PartCodes {
 public:
  PartCodes(const float* rows, std::span<const float> scales, int64_t width, int64_t begin, int64_t size)
      : rows_(rows + begin), scales_(scales), width_(width), size_(size), by_number_(size * kCenters) {}

  void find_centers(std::vector<int32_t> sample, Random random) {
    // Different rows to begin with; where there are fewer than centers, some centers stay unused.
    for (size_t i = sample.size(); i > 1; --i) std::swap(sample[i - 1], sample[random.below(i)]);
    for (int64_t c = 0; c < kCenters; ++c) set_center(c, part_of(sample[c % sample.size()]));
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> sums(kCenters * size_);
      std::vector<int64_t> counts(kCenters);
      for (int32_t row : sample) {
        const auto part = part_of(row);
        const uint8_t c = nearest(part);
        ++counts[c];
        for (int64_t i = 0; i < size_; ++i) sums[c * size_ + i] += part[i];
      }
      for (int64_t c = 0; c < kCenters; ++c) {
        if (counts[c] == 0) {
          set_center(c, part_of(sample[random.below(sample.size())]));
          continue;
        }
        std::vector<float> mean(size_);
        for (int64_t i = 0; i < size_; ++i) mean[i] = static_cast<float>(sums[c * size_ + i] / counts[c]);
        set_center(c, mean);
      }
    }
  }

  uint8_t code_of(int64_t row) { return nearest(part_of(row)); }
  float center(int64_t c, int64_t i) const { return by_number_[i * kCenters + c]; }

 private:
  std::span<const float> part_of(int64_t row) {
    part_.resize(size_);
    for (int64_t i = 0; i < size_; ++i) part_[i] = rows_[row * width_ + i] * scales_[row];
    return part_;
  }

  // Centers lie with all first numbers together, then all second ones, so that distances to them are taken side by
  // side.
  void set_center(int64_t c, std::span<const float> values) {
    for (int64_t i = 0; i < size_; ++i) by_number_[i * kCenters + c] = values[i];
  }

  uint8_t nearest(std::span<const float> part) {
    float distances[kCenters] = {};
    for (int64_t i = 0; i < size_; ++i)
      for (int64_t c = 0; c < kCenters; ++c) {
        const float difference = part[i] - by_number_[i * kCenters + c];
        distances[c] += difference * difference;
      }
    return static_cast<uint8_t>(std::min_element(distances, distances + kCenters) - distances);
  }

  const float* rows_;
  const std::span<const float> scales_;
  const int64_t width_, size_;
  std::vector<float> by_number_, part_;
};

std::vector<int32_t> sample_of(int64_t n, Random random) {
  std::vector<int32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  const int64_t size = std::min(n, kSample);
  for (int64_t i = 0; i < size; ++i) std::swap(rows[i], rows[i + random.below(n - i)]);
  rows.resize(size);
  return rows;
}

}  // namespace

ProductCodes product_codes(const float* rows, int64_t n, int64_t width, int64_t part, uint64_t seed, int n_threads) {
  const int64_t n_parts = (width + part - 1) / part;
  ProductCodes out{Buffer<uint8_t>(n * n_parts), Buffer<float>(n_parts * kCenters * part, 0.0f), Buffer<float>(n)};
  std::vector<float> to_unit(n);
  for (int64_t row = 0; row < n; ++row) {
    const double square = squared_length({rows + row * width, static_cast<size_t>(width)});
    to_unit[row] = static_cast<float>(unit_scale(square));
    out.scales[row] = static_cast<float>(std::sqrt(square));
  }
  if (n == 0) return out;
  const std::vector<int32_t> sample = sample_of(n, Random(seed));
  parallel_for(n_parts, 1, n_threads, [&](int64_t p, int64_t, int) {
    const int64_t size = std::min(part, width - p * part);
    PartCodes codes(rows, to_unit, width, p * part, size);
    codes.find_centers(sample, Random(seed, p + 1));
    for (int64_t row = 0; row < n; ++row) out.codes[row * n_parts + p] = codes.code_of(row);
    for (int64_t c = 0; c < kCenters; ++c)
      for (int64_t i = 0; i < size; ++i) out.centers[(p * kCenters + c) * part + i] = codes.center(c, i);
  });
  return out;
}

}  // namespace labelwood
