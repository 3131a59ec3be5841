// The weights of a tree: for every node a features × siblings matrix, stored by feature with siblings contiguous.
//
// A node's siblings are cut into segments of at most 256, so that a column takes one byte. Features that no sibling of
// a segment uses take no space: a two-level bitmap tells whether a feature has a row, and its rank which one.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "buffer.h"
#include "simd/kernels.h"
#include "tree.h"

namespace labelwood {

constexpr int32_t kSegment = 256;

inline int64_t words_for(int64_t n_features) { return (n_features + 63) / 64; }
inline int64_t tops_for(int64_t n_features) { return (words_for(n_features) + 63) / 64; }

// Views of the arrays, which may be mapped from a file.
struct BlocksView {
  int64_t n_features = 0;
  std::span<const int64_t> sibling_ptr;   // per node: its first sibling
  std::span<const int32_t> segment_ptr;   // per node: its first segment
  std::span<const uint64_t> top_bits;     // per segment tops_for(n_features): which words are not empty
  std::span<const uint32_t> top_ranks;    // words before
  std::span<const int64_t> word_ptr;      // per segment: its first word
  std::span<const uint64_t> word_bits;    // which features have a row
  std::span<const uint32_t> word_ranks;   // rows before
  std::span<const int64_t> row_ptr;       // per segment: its first row in row_ends, which has one more than rows
  std::span<const uint32_t> row_starts;   // per row: its first entry, counted within the segment
  std::span<const int64_t> entry_ptr;     // per segment: its first entry
  std::span<const uint8_t> columns;       // per entry: the sibling within the segment
  simd::Stored stored = simd::Stored::kFloat32;  // eight-bit weights are multiples of their sibling's scale
  const void* values = nullptr;           // per entry
  size_t n_values = 0;
  std::span<const float> biases;          // per sibling
  std::span<const float> scales;          // per sibling, for eight-bit weights

  const void* value_at(int64_t entry) const {
    const int64_t size = stored == simd::Stored::kFloat32 ? 4 : stored == simd::Stored::kFloat16 ? 2 : 1;
    return static_cast<const char*>(values) + entry * size;
  }
};

struct Blocks {
  std::vector<int64_t> sibling_ptr{0}, word_ptr{0}, row_ptr{0}, entry_ptr{0};
  std::vector<int32_t> segment_ptr{0};
  std::vector<uint64_t> top_bits, word_bits;
  std::vector<uint32_t> top_ranks, word_ranks, row_starts;
  std::vector<uint8_t> columns;
  std::vector<float> values, biases;
};

// Weights as multiples of their sibling's scale, and the scales.
struct EightBits {
  Buffer<int8_t> values;
  Buffer<float> scales;
};
EightBits in_eight_bits(const BlocksView& blocks, int n_threads);

// Throws Error unless every index stays within its array, so that a search cannot leave them.
void check_blocks(const TreeView& tree, const BlocksView& blocks);

// The entries of one segment before they are packed: ascending by feature, then by column.
struct SegmentEntries {
  std::vector<int32_t> features;
  std::vector<uint8_t> columns;
  std::vector<float> values;
};

// Appends a segment.
void pack(const SegmentEntries& entries, int64_t n_features, Blocks& out);

}  // namespace labelwood
