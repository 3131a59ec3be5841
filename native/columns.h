// Where terms get their columns from, and the counting of one text's columns.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "analyzer.h"
#include "hash.h"
#include "row_counter.h"
#include "vocabulary.h"

namespace labelwood {

// Each source has hash(p, n), prefetch(hash), and find(p, n, hash), which is −1 for a term without a column.
struct Known {
  const Vocabulary* vocabulary;
  uint64_t hash(const uint8_t* p, size_t n) const { return term_hash(p, n); }
  void prefetch(uint64_t hash) const { vocabulary->prefetch(hash); }
  int64_t find(const uint8_t* p, size_t n, uint64_t hash) const { return vocabulary->find(p, n, hash); }
};

struct Growing {
  TermTable* terms;
  uint64_t hash(const uint8_t* p, size_t n) const { return term_hash(p, n); }
  void prefetch(uint64_t hash) const { terms->prefetch(hash); }
  int64_t find(const uint8_t* p, size_t n, uint64_t hash) const { return terms->id_of(p, n, hash); }
};

struct Bucket {
  int32_t n_buckets;
  uint64_t hash(const uint8_t* p, size_t n) const { return murmur3_32(p, n); }
  void prefetch(uint64_t) const {}
  int64_t find(const uint8_t*, size_t, uint64_t hash) const {
    const auto low = static_cast<uint32_t>(hash);
    const uint32_t magnitude = static_cast<int32_t>(low) < 0 ? -low : low;
    return magnitude % static_cast<uint32_t>(n_buckets);
  }
};

// Hashes run some terms ahead of look-ups, so that the memory of a look-up is there when its turn comes.
template <class Columns>
void count_row(Analyzer& analyzer, RowCounter& counter, std::span<const uint8_t> text, Columns columns) {
  constexpr size_t kAhead = 8;
  std::array<uint64_t, kAhead> hashes;
  const std::span<const Analyzer::Term> terms = analyzer.terms(text);
  const auto look_ahead = [&](size_t i) {
    if (i >= terms.size()) return;
    hashes[i % kAhead] = columns.hash(analyzer.bytes(terms[i]), terms[i].size);
    columns.prefetch(hashes[i % kAhead]);
  };
  counter.clear();
  for (size_t i = 0; i < kAhead; ++i) look_ahead(i);
  for (size_t i = 0; i < terms.size(); ++i) {
    const int64_t id = columns.find(analyzer.bytes(terms[i]), terms[i].size, hashes[i % kAhead]);
    look_ahead(i + kAhead);
    if (id >= 0) counter.add(static_cast<uint32_t>(id));
  }
}

}  // namespace labelwood
