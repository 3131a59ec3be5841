// The inner loops that gain from wide registers. Every level computes the same bits: sums run in sixteen lanes that
// are added in one fixed order, and a*b+c is never fused.
#pragma once
#include <cstddef>
#include <cstdint>

namespace labelwood {
void poll_interrupt();  // of parallel.h, whose includes must not come here
}

namespace labelwood::simd {

constexpr int kLanes = 16;

// Up to sixteen linear classifiers over the same rows, one a lane. Arrays of lanes are aligned to 64 bytes.
struct SiblingProblem {
  int32_t n_rows, n_features;
  const int64_t* row_ptr;     // n_rows + 1
  const int32_t* features;    // of each entry
  const float* values;        // of each entry
  const float* squares;       // of each row: squared length
  const uint16_t* positives;  // of each row: the lanes it is a positive of
  const float* row_weights;   // of each row, or null
  int n_lanes;
  float bias;  // value of one more feature that every row has; 0 for none
  float cost_positive, cost_negative;
  float tolerance;
  int max_passes;
  uint64_t seed;
};

struct SiblingWorkspace {
  float* alphas;   // n_rows × lanes; for the logistic loss n_rows × 2 × lanes
  int32_t* order;  // n_rows
};

// Where the weights of some siblings are, as blocks.h stores them: by feature, found by a two-level bitmap.
enum class Precision { kFloat32, kFloat16, kInt8 };
inline int64_t size_of(Precision precision) {
  return precision == Precision::kFloat32 ? 4 : precision == Precision::kFloat16 ? 2 : 1;
}
struct StoredWeights {
  const uint64_t* top_bits;    // which words are not empty
  const uint32_t* top_ranks;   // words before
  const uint64_t* word_bits;   // which features have a row
  const uint32_t* word_ranks;  // rows before
  const uint32_t* row_starts;  // of each row: its first byte; one more than rows
  const uint8_t* bytes;
  Precision precision;
  uint32_t width;  // number of siblings
};

// A row's features by words of 64; `first` is the place of the word's first value.
struct QueryWord {
  uint32_t word, first;
  uint64_t bits;
};

// A sparse row and the centers of clusters, aligned to 64 bytes.
struct CenterProblem {
  const int32_t* features;
  const float* values;
  size_t n;
  const int32_t* places;  // of each feature among those that centers have, or −1
  const float* centers;   // by place, then center
  int64_t width;          // the number of centers, filled up to whole lanes
};

// Some columns of some rows of a dense matrix.
struct RowsOfMatrix {
  float* data;    // the first of the columns in the first row of the matrix
  size_t stride;  // from one row to the next
  size_t width;   // number of columns
  const int32_t* rows;
  size_t n;  // number of rows
};

// Dense rows and sixteen columns of a matrix, aligned to 64 bytes, with zeros for those that it lacks.
struct StripProblem {
  const float* rows;  // one after another
  size_t n_rows, n_features;
  const float* strip;  // by feature, then column
};

struct Kernels {
  const char* level;
  // Sum of a[i] * b[i].
  float (*dot)(const float* a, const float* b, size_t n);
  // Dual coordinate descent for the L2-regularised squared hinge; writes weights (n_features × lanes) and biases
  // (lanes). Returns the number of passes.
  int (*solve_squared_hinge)(const SiblingProblem& problem, const SiblingWorkspace& space, float* weights,
                             float* biases);
  // The same for the logistic loss.
  int (*solve_logistic)(const SiblingProblem& problem, const SiblingWorkspace& space, float* weights, float* biases);
  // Of each feature the lanes whose weight is not zero and at least as large as the lane's least.
  void (*lanes_to_keep)(const float* weights, int32_t n_features, const float* least, uint16_t* lanes);
  // Adds a row's inner products with the siblings to `sums`, and returns how many bytes of weights it met. It counts
  // bits, which older processors cannot.
  int64_t (*add_products)(const StoredWeights& w, const QueryWord* query, size_t n_words, const float* values,
                          float* sums);
  // Adds `x` times a row of stored weights, given as its bytes.
  void (*add_row)(const uint8_t* row, uint32_t n_bytes, Precision precision, uint32_t width, float x, float* sums);
  // The row's inner product with each center.
  void (*center_products)(const CenterProblem& problem, float* products);
  // Each row times the strip, rows × sixteen. A number is added up feature by feature, so no row depends on the others.
  void (*strip_products)(const StripProblem& problem, float* products);
  // y += a * x.
  void (*add_scaled)(float a, const float* x, float* y, size_t n);
  // sum += a * y, then y = keep * y + a * own * x.
  void (*exchange)(float keep, float a, float own, const float* x, float* y, float* sum, size_t n);
  // sum += values[j] * the j-th of the rows, for all of them.
  void (*gather_rows)(const RowsOfMatrix& rows, const float* values, float* sum);
  // The j-th of the rows += values[j] * addend, for all of them, one after another.
  void (*scatter_rows)(const RowsOfMatrix& rows, const float* values, const float* addend);
  // The inner product of each row of `codes` with the query. No sum may go beyond 32 bits.
  void (*code_products)(const int8_t* codes, const int16_t* query, size_t width, size_t n_rows, int32_t* products);
};

// The widest level this processor has, or the one named by LABELWOOD_SIMD (baseline, v3, v4).
const Kernels& kernels();

// All levels this processor can run, narrowest first; for tests.
const Kernels* const* runnable(size_t& count);

}  // namespace labelwood::simd
