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
