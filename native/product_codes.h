// Rows of a dense matrix as codes of their parts, for a sixteenth of the memory or less.
#pragma once
#include <cstdint>

#include "buffer.h"

namespace labelwood {

// As StoredRows reads them.
struct ProductCodes {
  Buffer<uint8_t> codes;
  Buffer<float> centers;
  Buffer<float> scales;
};

// Every row is brought to unit length, its parts of `part` numbers each go to the nearest of 256 centers, which k-means
// has found among the parts at the same place of a sample of rows.
ProductCodes product_codes(const float* rows, int64_t n, int64_t width, int64_t part, uint64_t seed, int n_threads);

}  // namespace labelwood
