#include "blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "error.h"

namespace labelwood {
namespace {

using simd::Precision;

// Rows that are not full are shorter than full ones, whatever the weights' size.
bool is_full(int64_t n_entries, int32_t width) { return 4 * n_entries >= width; }

void require(bool holds, const char* what) {
  if (!holds) throw Error(std::string("the tree's classifiers are not sound: ") + what + "; save the model again");
}

template <class T>
void check_ptr(std::span<const T> ptr, size_t size, size_t total, const char* what) {
  require(ptr.size() == size && ptr.front() == 0 && static_cast<size_t>(ptr.back()) == total, what);
  for (size_t i = 0; i + 1 < ptr.size(); ++i) require(ptr[i] <= ptr[i + 1], what);
}

// A row is full, or has whole entries.
void check_row(std::span<const uint8_t> row, int32_t width, int64_t size) {
  if (std::ssize(row) == width * size) return;
  require(std::ssize(row) % (1 + size) == 0, "a row ends within an entry");
  for (uint8_t column : row.first(row.size() / (1 + size))) require(column < width, "a column is out of range");
}

// A segment's bitmaps count its words and rows, and its rows end with its bytes.
void check_segment(const BlocksView& b, size_t segment, int32_t width) {
  const int64_t tops = tops_for(b.n_features), n_words = b.word_ptr[segment + 1] - b.word_ptr[segment];
  int64_t words = 0;
  for (int64_t t = 0; t < tops; ++t) {
    require(b.top_ranks[segment * tops + t] == words, "a bitmap's rank is wrong");
    words += std::popcount(b.top_bits[segment * tops + t]);
  }
  require(words == n_words, "a bitmap has another number of words");
  int64_t rows = 0;
  for (int64_t w = b.word_ptr[segment]; w < b.word_ptr[segment + 1]; ++w) {
    require(b.word_ranks[w] == rows, "a word's rank is wrong");
    rows += std::popcount(b.word_bits[w]);
  }
  require(rows + 1 == b.row_ptr[segment + 1] - b.row_ptr[segment], "a bitmap has another number of rows");
  const auto starts = b.row_starts.subspan(b.row_ptr[segment], rows + 1);
  const auto bytes = b.bytes.subspan(b.byte_ptr[segment], b.byte_ptr[segment + 1] - b.byte_ptr[segment]);
  require(starts[0] == 0 && starts[rows] == bytes.size(), "rows and bytes differ in number");
  for (int64_t r = 0; r < rows; ++r) require(starts[r] <= starts[r + 1], "a row ends before it begins");
  for (int64_t r = 0; r < rows; ++r)
    check_row(bytes.subspan(starts[r], starts[r + 1] - starts[r]), width, size_of(b.precision));
}

void check_numbers(const BlocksView& b) {
  if (b.feature_numbers.empty()) return;
  require(std::ssize(b.feature_numbers) == b.n_features, "features have no numbers");
  std::vector<uint8_t> seen(b.n_features);
  for (int32_t number : b.feature_numbers)
    require(number >= 0 && number < b.n_features && !std::exchange(seen[number], 1), "a feature's number");
}

// The bits of the nearest half-precision number; too large ones become the largest.
uint16_t half_of(float value) {
  constexpr float kLargest = 65504;
  const uint32_t bits = std::bit_cast<uint32_t>(std::clamp(value, -kLargest, kLargest) * 0x1p-112f);
  const uint32_t size = bits & 0x7fffffff;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | (size + 0xfff + (size >> 13 & 1)) >> 13);
}

// Appends weights as they are stored.
class RowWriter {
 public:
  RowWriter(Blocks& out, int64_t first_sibling) : out_(out), first_sibling_(first_sibling) {}

  void add(const SegmentEntries& entries, size_t begin, size_t end, int32_t width) {
    if (is_full(static_cast<int64_t>(end - begin), width)) {
      full_.assign(width, 0.0f);
      for (size_t i = begin; i < end; ++i) full_[entries.columns[i]] = entries.values[i];
      for (int32_t column = 0; column < width; ++column) put(full_[column], column);
    } else {
      out_.bytes.insert(out_.bytes.end(), entries.columns.begin() + begin, entries.columns.begin() + end);
      for (size_t i = begin; i < end; ++i) put(entries.values[i], entries.columns[i]);
    }
  }

 private:
  void put(float value, int32_t column) {
    switch (out_.precision) {
      case Precision::kFloat32: return append(value);
      case Precision::kFloat16: return append(half_of(value));
      case Precision::kInt8:
        return append(static_cast<int8_t>(std::nearbyint(value / out_.scales[first_sibling_ + column])));
    }
  }
  template <class T>
  void append(T value) {
    uint8_t bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_.bytes.insert(out_.bytes.end(), bytes, bytes + sizeof(T));
  }

  Blocks& out_;
  const int64_t first_sibling_;
  std::vector<float> full_;
};

void add_scales(std::span<const SegmentEntries> segments, size_t n_siblings, Blocks& out) {
  const size_t first = out.scales.size();
  out.scales.resize(first + n_siblings);
  for (size_t s = 0; s < segments.size(); ++s)
    for (size_t i = 0; i < segments[s].values.size(); ++i) {
      float& largest = out.scales[first + s * kSegment + segments[s].columns[i]];
      largest = std::max(largest, std::abs(segments[s].values[i]));
    }
  for (size_t i = first; i < out.scales.size(); ++i) out.scales[i] = out.scales[i] > 0 ? out.scales[i] / 127 : 1;
}

void add_segment(const SegmentEntries& entries, int32_t width, int64_t first_sibling, int64_t n_features, Blocks& out) {
  const size_t first_top = out.top_bits.size(), n = entries.features.size();
  out.top_bits.resize(first_top + tops_for(n_features));
  out.top_ranks.resize(out.top_bits.size());
  RowWriter writer(out, first_sibling);
  const auto end_row = [&] {
    out.row_starts.push_back(static_cast<uint32_t>(std::ssize(out.bytes) - out.byte_ptr.back()));
  };
  uint32_t rows = 0;
  int64_t last_word = -1;
  end_row();
  for (size_t begin = 0, end = 0; begin < n; begin = end, ++rows) {
    const int32_t feature = entries.features[begin];
    while (end < n && entries.features[end] == feature) ++end;
    const int64_t word = feature / 64;
    if (std::exchange(last_word, word) != word) {
      out.top_bits[first_top + word / 64] |= uint64_t{1} << (word % 64);
      out.word_bits.push_back(0);
      out.word_ranks.push_back(rows);
    }
    out.word_bits.back() |= uint64_t{1} << (feature % 64);
    writer.add(entries, begin, end, width);
    end_row();
  }
  uint32_t words = 0;
  for (size_t top = first_top; top < out.top_bits.size(); ++top) {
    out.top_ranks[top] = words;
    words += static_cast<uint32_t>(std::popcount(out.top_bits[top]));
  }
  out.word_ptr.push_back(std::ssize(out.word_bits));
  out.row_ptr.push_back(std::ssize(out.row_starts));
  out.byte_ptr.push_back(std::ssize(out.bytes));
}

}  // namespace

BlocksView Blocks::view(int64_t n_features) const {
  return {n_features, precision, sibling_ptr, segment_ptr, top_bits, top_ranks, word_ptr, word_bits,
          word_ranks, row_ptr,   row_starts,  byte_ptr,    bytes,    biases,    scales,   {}};
}

void check_blocks(const TreeView& tree, const BlocksView& b) {
  const size_t n_nodes = tree.n_nodes(), n_segments = b.word_ptr.empty() ? 0 : b.word_ptr.size() - 1;
  check_ptr(b.sibling_ptr, n_nodes + 1, b.biases.size(), "siblings");
  check_ptr(b.segment_ptr, n_nodes + 1, n_segments, "segments");
  check_ptr(b.word_ptr, n_segments + 1, b.word_bits.size(), "words");
  check_ptr(b.row_ptr, n_segments + 1, b.row_starts.size(), "rows");
  check_ptr(b.byte_ptr, n_segments + 1, b.bytes.size(), "bytes");
  require(b.top_bits.size() == n_segments * tops_for(b.n_features) && b.top_ranks.size() == b.top_bits.size(),
          "bitmaps");
  require(b.word_ranks.size() == b.word_bits.size(), "words");
  require(b.scales.size() == (b.precision == Precision::kInt8 ? b.biases.size() : 0), "scales");
  check_numbers(b);
  for (size_t node = 0; node < n_nodes; ++node) {
    const int32_t n = tree.n_siblings(static_cast<int32_t>(node));
    require(b.sibling_ptr[node + 1] - b.sibling_ptr[node] == n, "a node's siblings");
    require(b.segment_ptr[node + 1] - b.segment_ptr[node] == (n + kSegment - 1) / kSegment, "a node's segments");
    for (int32_t s = b.segment_ptr[node], left = n; s < b.segment_ptr[node + 1]; ++s, left -= kSegment)
      check_segment(b, s, std::min(left, kSegment));
  }
}

void pack(std::span<const SegmentEntries> segments, std::span<const float> biases, int64_t n_features, Blocks& out) {
  const int64_t first = std::ssize(out.biases), n = std::ssize(biases);
  if (out.precision == Precision::kInt8) add_scales(segments, biases.size(), out);
  out.biases.insert(out.biases.end(), biases.begin(), biases.end());
  for (int64_t s = 0; s < std::ssize(segments); ++s)
    add_segment(segments[s], static_cast<int32_t>(std::min<int64_t>(n - s * kSegment, kSegment)), first + s * kSegment,
                n_features, out);
  out.sibling_ptr.push_back(std::ssize(out.biases));
  out.segment_ptr.push_back(static_cast<int32_t>(std::ssize(out.word_ptr)) - 1);
}

SegmentEntries unpacked(const BlocksView& b, int64_t segment, int32_t width, int64_t first_sibling) {
  SegmentEntries out;
  const int64_t tops = tops_for(b.n_features), first_row = b.row_ptr[segment];
  const uint8_t* bytes = b.bytes.data() + b.byte_ptr[segment];
  std::vector<float> sums(width);
  for (int64_t top = 0, row = first_row, word = b.word_ptr[segment]; top < tops; ++top)
    for (uint64_t words = b.top_bits[segment * tops + top]; words != 0; words &= words - 1, ++word)
      for (uint64_t bits = b.word_bits[word]; bits != 0; bits &= bits - 1, ++row) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        simd::kernels().add_row(bytes + b.row_starts[row], b.row_starts[row + 1] - b.row_starts[row], b.precision,
                                static_cast<uint32_t>(width), 1.0f, sums.data());
        const int64_t feature = (top * 64 + std::countr_zero(words)) * 64 + std::countr_zero(bits);
        for (int32_t column = 0; column < width; ++column) {
          if (sums[column] == 0) continue;
          out.features.push_back(static_cast<int32_t>(feature));
          out.columns.push_back(static_cast<uint8_t>(column));
          out.values.push_back(sums[column] * (b.scales.empty() ? 1.0f : b.scales[first_sibling + column]));
        }
      }
  return out;
}

}  // namespace labelwood
