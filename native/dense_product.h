// Dense rows times a dense matrix, where a row's numbers do not depend on the other rows, the threads or the processor.
// Linear algebra libraries are faster and promise none of that.
#pragma once
#include "buffer.h"
#include "centroid.h"

namespace labelwood {

// rows × columns of `matrix`, which has as many rows as X has columns.
Buffer<float> dense_product(const DenseView& X, const DenseView& matrix, int n_threads);

}  // namespace labelwood
