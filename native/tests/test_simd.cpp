#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"
#include "simd/kernels.h"

using namespace labelwood;

static std::vector<float> numbers(size_t n, uint32_t state) {
  std::vector<float> out(n);
  for (float& x : out) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return out;
}

TEST(every_simd_level_gives_the_same_bits) {
  size_t count;
  const simd::Kernels* const* levels = simd::runnable(count);
  for (size_t n = 0; n < 100; ++n) {
    const auto a = numbers(n, 1), b = numbers(n, 2);
    const float expected = levels[0]->dot(a.data(), b.data(), n);
    for (size_t l = 1; l < count; ++l) {
      const float got = levels[l]->dot(a.data(), b.data(), n);
      CHECK(std::memcmp(&got, &expected, sizeof got) == 0);
    }
  }
}

TEST(dot_is_right_to_float_precision) {
  const auto a = numbers(1003, 3), b = numbers(1003, 4);
  double exact = 0;
  for (size_t i = 0; i < a.size(); ++i) exact += static_cast<double>(a[i]) * b[i];
  CHECK(std::abs(simd::kernels().dot(a.data(), b.data(), a.size()) - exact) < 1e-4);
}

TEST(products_with_centers_are_sums_over_the_features_that_centers_have_at_every_level) {
  const std::vector<int32_t> features{0, 2, 3}, places{1, 0, -1, 0};  // feature 2 is in no center
  const std::vector<float> values{0.5f, 9.0f, 2.0f};
  size_t count;
  const simd::Kernels* const* levels = simd::runnable(count);
  for (int64_t width = simd::kLanes; width <= 20 * simd::kLanes; width += simd::kLanes) {
    struct alignas(64) Line {
      float of[simd::kLanes];
    };
    std::vector<Line> centers(2 * width / simd::kLanes), products(width / simd::kLanes);
    const auto drawn = numbers(2 * width, 5);
    std::memcpy(centers.data(), drawn.data(), drawn.size() * sizeof(float));
    for (size_t l = 0; l < count; ++l) {
      levels[l]->center_products({features.data(), values.data(), 3, places.data(), centers[0].of, width},
                                 products[0].of);
      for (int64_t c = 0; c < width; ++c)
        CHECK(products[c / simd::kLanes].of[c % simd::kLanes] == drawn[width + c] * 0.5f + drawn[c] * 2.0f);
    }
  }
}

TEST(products_with_strips_are_added_up_feature_by_feature_at_every_level) {
  constexpr size_t kFeatures = 7, kMost = 20;
  struct alignas(64) Line {
    float of[simd::kLanes];
  };
  std::vector<Line> strip(kFeatures), products(kMost);
  const auto columns = numbers(kFeatures * simd::kLanes, 6), rows = numbers(kFeatures * kMost, 7);
  std::memcpy(strip.data(), columns.data(), columns.size() * sizeof(float));
  size_t count;
  const simd::Kernels* const* levels = simd::runnable(count);
  for (size_t n = 0; n <= kMost; ++n)
    for (size_t l = 0; l < count; ++l) {
      levels[l]->strip_products({rows.data(), n, kFeatures, strip[0].of}, products[0].of);
      for (size_t row = 0; row < n; ++row)
        for (int c = 0; c < simd::kLanes; ++c) {
          float sum = 0;
          for (size_t f = 0; f < kFeatures; ++f) sum += strip[f].of[c] * rows[row * kFeatures + f];
          CHECK(products[row].of[c] == sum);
        }
    }
}
