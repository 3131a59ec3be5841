#include "blocks.h"

namespace labelwood {

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
