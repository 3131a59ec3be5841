// The inner loops that gain from wide registers. Every level computes the same bits: sums run in sixteen lanes that
// are added in one fixed order, and a*b+c is never fused.
#pragma once
#include <cstddef>

namespace labelwood::simd {

struct Kernels {
  const char* level;
  // Sum of a[i] * b[i].
  float (*dot)(const float* a, const float* b, size_t n);
};

// The widest level this processor has, or the one named by LABELWOOD_SIMD (baseline, v3, v4).
const Kernels& kernels();

// All levels this processor can run, narrowest first; for tests.
const Kernels* const* runnable(size_t& count);

}  // namespace labelwood::simd
