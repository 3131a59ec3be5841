// The weights of a tree: for every node a features × siblings matrix, stored by feature with siblings contiguous.
//
// A node's siblings are cut into segments of at most 256, so that a column takes one byte. Features that no sibling of
// a segment uses take no space: a two-level bitmap tells whether a feature has a row, and its rank which one. Features
// are numbered by how frequent they are in training, so that those that most rows have share words and cache lines.
//
// A row is its columns followed by their weights. Where a quarter of the siblings or more have the feature it is full:
// a weight for every sibling and no columns, which is added much faster and takes little more space. The number of
// bytes tells which it is, as other rows are shorter.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "simd/kernels.h"
#include "tree.h"

namespace labelwood {

constexpr int32_t kSegment = 256;

inline int64_t words_for(int64_t n_features) { return (n_features + 63) / 64; }
inline int64_t tops_for(int64_t n_features) { return (words_for(n_features) + 63) / 64; }

// Views of the arrays, which may be mapped from a file.
struct BlocksView {
  int64_t n_features = 0;
  simd::Precision precision = simd::Precision::kFloat32;
  std::span<const int64_t> sibling_ptr;      // per node: its first sibling
  std::span<const int32_t> segment_ptr;      // per node: its first segment
  std::span<const uint64_t> top_bits;        // per segment tops_for(n_features): which words are not empty
  std::span<const uint32_t> top_ranks;       // words before
  std::span<const int64_t> word_ptr;         // per segment: its first word
  std::span<const uint64_t> word_bits;       // which features have a row
  std::span<const uint32_t> word_ranks;      // rows before
  std::span<const int64_t> row_ptr;          // per segment: its first row in row_starts, which has one more than rows
  std::span<const uint32_t> row_starts;      // per row: its first byte, counted within the segment
  std::span<const int64_t> byte_ptr;         // per segment: its first byte
  std::span<const uint8_t> bytes;            // of the rows
  std::span<const float> biases;             // per sibling
  std::span<const float> scales;             // per sibling, for eight-bit weights, which are multiples of it
  std::span<const int32_t> feature_numbers;  // of each feature; empty: as they are
};

struct Blocks {
  simd::Precision precision = simd::Precision::kFloat32;
  std::vector<int64_t> sibling_ptr{0}, word_ptr{0}, row_ptr{0}, byte_ptr{0};
  std::vector<int32_t> segment_ptr{0};
  std::vector<uint64_t> top_bits, word_bits;
  std::vector<uint32_t> top_ranks, word_ranks, row_starts;
  std::vector<uint8_t> bytes;
  std::vector<float> biases, scales;

  BlocksView view(int64_t n_features) const;
};

// Throws Error unless every index stays within its array, so that a search cannot leave them.
void check_blocks(const TreeView& tree, const BlocksView& blocks);

// The entries of one segment before they are packed, ascending by feature.
struct SegmentEntries {
  std::vector<int32_t> features;
  std::vector<uint8_t> columns;
  std::vector<float> values;
};

// Appends a node.
void pack(std::span<const SegmentEntries> segments, std::span<const float> biases, int64_t n_features, Blocks& out);

// The entries of a segment of `width` siblings, the first of which is `first_sibling`, as they can be told from what is
// stored.
SegmentEntries unpacked(const BlocksView& blocks, int64_t segment, int32_t width, int64_t first_sibling);

}  // namespace labelwood
