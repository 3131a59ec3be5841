#include <cstdlib>
#include <cstring>

#include "kernels.h"

namespace labelwood::simd {

extern const Kernels kernels_baseline;
#if defined(__x86_64__)
extern const Kernels kernels_v3, kernels_v4;
#endif

namespace {

struct Levels {
  const Kernels* table[3];
  size_t count = 0;

  Levels() {
    table[count++] = &kernels_baseline;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
      table[count++] = &kernels_v3;
    if (count == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      table[count++] = &kernels_v4;
#endif
  }
};

const Levels& levels() {
  static const Levels found;
  return found;
}

const Kernels& choose() {
  const char* wanted = std::getenv("LABELWOOD_SIMD");
  for (size_t i = 0; wanted != nullptr && i < levels().count; ++i)
    if (std::strcmp(levels().table[i]->level, wanted) == 0) return *levels().table[i];
  return *levels().table[levels().count - 1];
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

const Kernels* const* runnable(size_t& count) {
  count = levels().count;
  return levels().table;
}

}  // namespace labelwood::simd
