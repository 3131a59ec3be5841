// In which leaves labels are placed when each may lie in several: where their rows are searched most.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sparse.h"

namespace labelwood {

// Of each label some leaves, and how many of its rows reach each.
struct Places {
  std::vector<int64_t> label_ptr{0};
  std::vector<int32_t> leaves, counts;
};

// `members` is labels × rows, `reached` rows × leaves and `own` labels × leaves: where labels lie now. The leaves that
// the rows of each label reach, most rows first; of equal ones, its own before others, and then in their order. No more
// than `most` of each label; 0: all. The product is never held whole: a thread counts one label at a time.
Places counted(const CsrView& members, const CsrView& reached, const CsrView& own, int64_t most, int n_threads);

// Of the leaves counted for each label at least one and at most `copies`, so that no leaf has more labels than room:
// greedily, the largest counts first, but every label gets a first leaf before any gets a second one. A label whose
// leaves are all full goes to its own, and if these are full too, to the first that is not. There must be room for all.
Places fitted(const Places& counts, const CsrView& own, int64_t copies, std::span<const int64_t> room);

}  // namespace labelwood
