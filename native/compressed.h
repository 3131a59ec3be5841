// Matrices in compressed rows or columns as users pass them: whether their arrays fit each other.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "error.h"

namespace labelwood {

// Throws unless `indptr` cuts the entries into `n_runs` runs, one after the other.
template <class I>
void check_pointers(std::span<const I> indptr, int64_t n_entries, int64_t n_runs) {
  if (n_runs < 0 || std::ssize(indptr) - 1 != n_runs)
    throw Error("its indptr has " + std::to_string(indptr.size()) + " numbers and should have one more than " +
                std::to_string(n_runs));
  if (indptr.front() != 0) throw Error("its indptr does not begin with 0");
  bool rising = true;
  for (size_t i = 1; i < indptr.size(); ++i) rising = rising & (indptr[i - 1] <= indptr[i]);
  if (!rising) throw Error("its indptr decreases");
  if (static_cast<int64_t>(indptr.back()) != n_entries)
    throw Error("its indptr ends with " + std::to_string(indptr.back()) + " and there are " +
                std::to_string(n_entries) + " entries");
}

// Throws unless all places are from 0 up to n_places.
template <class I>
void check_places(std::span<const I> indices, int64_t n_places) {
  if (n_places < 0) throw Error("there are fewer than no places");
  I least = 0, most = -1;
  for (I place : indices) {
    least = std::min(least, place);
    most = std::max(most, place);
  }
  if (least < 0 || static_cast<int64_t>(most) >= n_places)
    throw Error("an index is " + std::to_string(least < 0 ? least : most) + " and should be from 0 to " +
                std::to_string(n_places - 1));
}

inline bool all_finite(std::span<const float> values) {
  bool finite = true;
  for (float v : values) finite = finite & std::isfinite(v);
  return finite;
}

// Throws unless the arrays are sound; else whether the places of every run ascend and none occurs twice. If they do,
// only the first and the last of a run can be out of range.
template <class I>
bool places_ascend(std::span<const I> indptr, std::span<const I> indices, int64_t n_values, int64_t n_runs,
                   int64_t n_places) {
  if (n_values != std::ssize(indices))
    throw Error("it has " + std::to_string(n_values) + " values and " + std::to_string(indices.size()) + " indices");
  check_pointers(indptr, n_values, n_runs);
  int64_t falls = 0, falls_between = 0;  // from one entry to the next, and of these where a run ends
  for (size_t i = 1; i < indices.size(); ++i) falls += indices[i - 1] >= indices[i];
  bool inside = true;
  for (int64_t run = 0; run < n_runs; ++run) {
    const I begin = indptr[run], end = indptr[run + 1];
    if (begin == end) continue;
    falls_between += begin > 0 && indices[begin - 1] >= indices[begin];
    inside = inside & (indices[begin] >= 0) & (static_cast<int64_t>(indices[end - 1]) < n_places);
  }
  const bool ascend = falls == falls_between;
  if (!ascend || !inside) check_places(indices, n_places);
  return ascend;
}

}  // namespace labelwood
