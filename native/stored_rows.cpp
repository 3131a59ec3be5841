#include "stored_rows.h"

#include <algorithm>

#include "error.h"
#include "simd/kernels.h"

namespace labelwood {

void StoredRows::add(int64_t row, float x, float* sum) const {
  if (!plain.empty()) return simd::kernels().add_scaled(x, plain.data() + row * width, sum, width);
  const uint8_t* code = codes.data() + row * n_parts();
  const float* table = centers.data();
  const float scaled = x * scales[row];
  for (int64_t begin = 0; begin < width; begin += part, table += kCenters * part) {
    const float* center = table + *code++ * part;
    const int64_t size = std::min(part, width - begin);
    for (int64_t i = 0; i < size; ++i) sum[begin + i] += scaled * center[i];
  }
}

float StoredRows::dot(int64_t row, const float* other) const {
  if (!plain.empty()) return simd::kernels().dot(plain.data() + row * width, other, width);
  const uint8_t* code = codes.data() + row * n_parts();
  const float* table = centers.data();
  float sum = 0;
  for (int64_t begin = 0; begin < width; begin += part, table += kCenters * part) {
    const float* center = table + *code++ * part;
    const int64_t size = std::min(part, width - begin);
    for (int64_t i = 0; i < size; ++i) sum += other[begin + i] * center[i];
  }
  return sum * scales[row];
}

void StoredRows::add(std::span<const int32_t> rows, std::span<const float> values, float* sum) const {
  if (!plain.empty()) {
    const auto stride = static_cast<size_t>(width);
    // The kernel serves training too, which changes the matrix; this one only reads.
    const simd::RowsOfMatrix chosen{const_cast<float*>(plain.data()), stride, stride, rows.data(), rows.size()};
    return simd::kernels().gather_rows(chosen, values.data(), sum);
  }
  for (size_t j = 0; j < rows.size(); ++j) add(rows[j], values[j], sum);
}

void check_shape(const StoredRows& r) {
  const auto rows = static_cast<size_t>(r.n), width = static_cast<size_t>(r.width);
  bool fits = r.n >= 0 && r.width > 0;
  if (r.codes.empty() && r.n > 0) {
    fits = fits && r.plain.size() == rows * width;
  } else if (r.n > 0) {
    fits = fits && r.part > 0 && r.part <= r.width;
    const auto parts = fits ? static_cast<size_t>(r.n_parts()) : 0;
    fits = fits && r.codes.size() == rows * parts && r.scales.size() == rows &&
           r.centers.size() == parts * StoredRows::kCenters * static_cast<size_t>(r.part);
  }
  if (!fits) throw Error("the arrays of a matrix differ in size");
}

}  // namespace labelwood
