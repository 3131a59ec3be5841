// Where terms get their columns from, and the counting of one text's columns.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "analyzer.h"
#include "hash.h"
#include "parallel.h"
#include "row_counter.h"
#include "term_counter.h"
#include "term_key.h"

namespace labelwood {

// Columns without a table: terms are hashed, and several may share one.
struct Buckets {
  int32_t n_buckets;
  void prefetch(const TermKey&) const {}
  int64_t find(const TermKey&, const uint8_t* p, size_t n) const {
    const uint32_t hash = murmur3_32(p, n);
    const uint32_t magnitude = static_cast<int32_t>(hash) < 0 ? -hash : hash;
    return magnitude % static_cast<uint32_t>(n_buckets);
  }
};

// Counts one text after another and keeps its memory for the next; every thread has its own.
class ColumnCounter {
 public:
  // The columns of a text and how often each occurs, in order of first occurrence. They live until the next call. A
  // source of columns has prefetch(key) and find(key, p, n), which is −1 for a term without a column.
  template <class Columns>
  std::span<Count> count(const Analysis& analysis, std::span<const uint8_t> text, Columns& columns) {
    analyzer_.use(analysis);
    std::span<const Analyzer::Term> terms = analyzer_.terms(text);
    if (terms.size() <= TermCounter::kMost && !std::is_same_v<Columns, const Buckets>)
      return count_some(terms, columns);
    joined_.clear();
    while (!terms.empty()) {
      const size_t n = std::min(terms.size(), TermCounter::kMost);
      for (const Count entry : count_some(terms.first(n), columns)) joined_.add(entry.id, entry.count);
      terms = terms.subspan(n);
      poll_interrupt();
    }
    return joined_.counts();
  }

  // Bytes set aside for texts, and their return.
  size_t room() const { return analyzer_.room(); }
  void give_back_room() {
    analyzer_ = Analyzer();
    joined_ = RowCounter();
  }

 private:
  template <class Columns>
  std::span<Count> count_some(std::span<const Analyzer::Term> terms, Columns& columns) {
    const std::span<const uint16_t> different = counter_.count(analyzer_.bytes(), terms);
    for (const uint16_t i : different) columns.prefetch(counter_.key(i));
    size_t n = 0;
    for (const uint16_t i : different) {
      const int64_t id = columns.find(counter_.key(i), analyzer_.bytes(terms[i]), terms[i].size);
      row_[n] = {static_cast<uint32_t>(id), counter_.count(i)};
      n += id >= 0;
    }
    return {row_.data(), n};
  }

  Analyzer analyzer_;
  TermCounter counter_;
  std::array<Count, TermCounter::kMost> row_;
  RowCounter joined_;  // of the parts of a long text, and of terms that share columns
};

}  // namespace labelwood
