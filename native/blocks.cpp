#include "blocks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "error.h"
#include "parallel.h"

namespace labelwood {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Error(std::string("the tree's classifiers are not sound: ") + what + "; save the model again");
}

template <class T>
void check_ptr(std::span<const T> ptr, size_t size, size_t total, const char* what) {
  require(ptr.size() == size && ptr.front() == 0 && static_cast<size_t>(ptr.back()) == total, what);
  for (size_t i = 0; i + 1 < ptr.size(); ++i) require(ptr[i] <= ptr[i + 1], what);
}

// A segment's bitmaps count its words and rows, and its rows end with its entries.
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
  const int64_t n_entries = b.entry_ptr[segment + 1] - b.entry_ptr[segment];
  for (int64_t r = 0; r < rows; ++r) require(starts[r] <= starts[r + 1], "a row ends before it begins");
  require(starts[0] == 0 && starts[rows] == n_entries, "rows and entries differ in number");
  for (uint8_t column : b.columns.subspan(b.entry_ptr[segment], n_entries)) require(column < width, "a column is out of range");
}

}  // namespace

EightBits in_eight_bits(const BlocksView& b, int n_threads) {
  constexpr int64_t kNodesAtOnce = 16;
  const float* weights = static_cast<const float*>(b.values);
  EightBits out{Buffer<int8_t>(b.n_values), Buffer<float>(b.biases.size(), 0.0f)};
  parallel_for(std::ssize(b.segment_ptr) - 1, kNodesAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t node = begin; node < end; ++node) {
      const auto each = [&](auto visit) {
        for (int32_t s = b.segment_ptr[node]; s < b.segment_ptr[node + 1]; ++s)
          for (int64_t e = b.entry_ptr[s]; e < b.entry_ptr[s + 1]; ++e)
            visit(e, out.scales[b.sibling_ptr[node] + int64_t{kSegment} * (s - b.segment_ptr[node]) + b.columns[e]]);
      };
      each([&](int64_t e, float& largest) { largest = std::max(largest, std::abs(weights[e])); });
      for (int64_t i = b.sibling_ptr[node]; i < b.sibling_ptr[node + 1]; ++i)
        out.scales[i] = out.scales[i] > 0 ? out.scales[i] / 127 : 1;
      each([&](int64_t e, float& scale) { out.values[e] = static_cast<int8_t>(std::nearbyint(weights[e] / scale)); });
    }
  });
  return out;
}

void check_blocks(const TreeView& tree, const BlocksView& b) {
  const size_t n_nodes = tree.n_nodes(), n_segments = b.word_ptr.empty() ? 0 : b.word_ptr.size() - 1;
  check_ptr(b.sibling_ptr, n_nodes + 1, b.biases.size(), "siblings");
  check_ptr(b.segment_ptr, n_nodes + 1, n_segments, "segments");
  check_ptr(b.word_ptr, n_segments + 1, b.word_bits.size(), "words");
  check_ptr(b.row_ptr, n_segments + 1, b.row_starts.size(), "rows");
  check_ptr(b.entry_ptr, n_segments + 1, b.columns.size(), "entries");
  require(b.top_bits.size() == n_segments * tops_for(b.n_features) && b.top_ranks.size() == b.top_bits.size(), "bitmaps");
  require(b.word_ranks.size() == b.word_bits.size() && b.n_values == b.columns.size(), "values");
  require(b.scales.size() == (b.stored == simd::Stored::kInt8 ? b.biases.size() : 0), "scales");
  for (size_t node = 0; node < n_nodes; ++node) {
    const int32_t n = tree.n_siblings(static_cast<int32_t>(node));
    require(b.sibling_ptr[node + 1] - b.sibling_ptr[node] == n, "a node's siblings");
    require(b.segment_ptr[node + 1] - b.segment_ptr[node] == (n + kSegment - 1) / kSegment, "a node's segments");
    for (int32_t s = b.segment_ptr[node], left = n; s < b.segment_ptr[node + 1]; ++s, left -= kSegment)
      check_segment(b, s, std::min(left, kSegment));
  }
}

void pack(const SegmentEntries& entries, int64_t n_features, Blocks& out) {
  const size_t first_top = out.top_bits.size();
  out.top_bits.resize(first_top + tops_for(n_features));
  out.top_ranks.resize(out.top_bits.size());
  uint32_t rows = 0;
  int64_t last_word = -1;
  int32_t last_feature = -1;
  for (size_t i = 0; i < entries.features.size(); ++i) {
    const int32_t feature = entries.features[i];
    if (feature == last_feature) continue;
    last_feature = feature;
    const int64_t word = feature / 64;
    if (word != last_word) {
      last_word = word;
      out.top_bits[first_top + word / 64] |= uint64_t{1} << (word % 64);
      out.word_bits.push_back(0);
      out.word_ranks.push_back(rows);
    }
    out.word_bits.back() |= uint64_t{1} << (feature % 64);
    out.row_starts.push_back(static_cast<uint32_t>(i));
    ++rows;
  }
  out.row_starts.push_back(static_cast<uint32_t>(entries.features.size()));
  uint32_t words = 0;
  for (size_t top = first_top; top < out.top_bits.size(); ++top) {
    out.top_ranks[top] = words;
    words += static_cast<uint32_t>(std::popcount(out.top_bits[top]));
  }
  out.columns.insert(out.columns.end(), entries.columns.begin(), entries.columns.end());
  out.values.insert(out.values.end(), entries.values.begin(), entries.values.end());
  out.word_ptr.push_back(static_cast<int64_t>(out.word_bits.size()));
  out.row_ptr.push_back(static_cast<int64_t>(out.row_starts.size()));
  out.entry_ptr.push_back(static_cast<int64_t>(out.columns.size()));
}

}  // namespace labelwood
