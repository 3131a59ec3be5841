// Memory that is read from one end to the other is read faster in few large pages than in many small ones.
#pragma once
#include <cstddef>
#include <cstdint>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace labelwood {

// Asks for large pages where whole ones lie in this memory, which should not have been written to yet. A system without
// them does nothing.
inline void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t n_bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t page = uintptr_t{1} << 21;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + n_bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace labelwood
