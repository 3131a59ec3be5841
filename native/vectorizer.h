// Texts to tf-idf: counts the terms of each text and weighs the counts.
#pragma once
#include <cstdint>
#include <span>

#include "analyzer.h"
#include "buffer.h"
#include "sparse.h"
#include "term_index.h"
#include "vocabulary.h"

namespace labelwood {

using Text = std::span<const uint8_t>;  // UTF-8
using Texts = std::span<const Text>;

// How often each term occurs in each text, in compressed rows; columns ascend.
struct CountMatrix {
  Buffer<int64_t> indptr;
  Buffer<int32_t> indices;
  Buffer<int32_t> counts;
};

// The terms of all texts in the order of their code points, what is known of each, and the texts' counts.
struct TermCounts {
  Terms terms;
  Buffer<int64_t> n_texts;      // in how many texts a term occurs
  Buffer<int64_t> occurrences;  // how often in all
  CountMatrix matrix;           // empty unless asked for
};

TermCounts count_terms(Texts texts, const Analysis& analysis, bool with_matrix, int n_threads);

// The same with terms hashed into n_buckets columns.
CountMatrix count_buckets(Texts texts, const Analysis& analysis, int32_t n_buckets, int n_threads);

enum class Norm { none, l1, l2 };

struct Weighing {
  bool binary;        // counts become 1
  bool sublinear_tf;  // counts become 1 + log(count)
  Norm norm;
  std::span<const double> idf;  // by column; empty for none; a column with zero is left out
};

// Weighs counts that are there already. `columns[c]` is the new number of column c, or −1 to leave it out; empty
// `columns` change nothing.
Csr weigh(std::span<const int64_t> indptr, std::span<const int32_t> indices, std::span<const int32_t> counts,
          std::span<const int32_t> columns, int64_t n_cols, const Weighing& weighing, int n_threads);

// Counts and weighs in one go; terms that are not in the vocabulary are left out.
Csr transform(Texts texts, const Analysis& analysis, const TermIndex& terms, const Weighing& weighing, int n_threads);
Csr transform(Texts texts, const Analysis& analysis, int32_t n_buckets, const Weighing& weighing, int n_threads);

}  // namespace labelwood
