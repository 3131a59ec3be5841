#include "vectorizer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "columns.h"
#include "hash.h"
#include "parallel.h"
#include "row_counter.h"

namespace labelwood {
namespace {

constexpr int64_t kGrain = 64;  // texts a chunk

int64_t size_of(Texts texts) { return static_cast<int64_t>(texts.size()); }

int64_t n_chunks(int64_t n_rows) { return (n_rows + kGrain - 1) / kGrain; }

// Counts of consecutive texts, row after row.
struct CountChunk {
  int worker = 0;
  std::vector<Count> entries;
  std::vector<int64_t> row_ends;
};

// Each worker meets terms in an order of its own; the common order is made afterwards.
struct TermWorker {
  explicit TermWorker(const Analysis& analysis) : analyzer(analysis) {}

  void read(Text text) {
    count_row(analyzer, counter, text, Growing{&terms});
    n_texts.resize(terms.size());
    occurrences.resize(terms.size());
    for (const Count entry : counter.counts()) {
      n_texts[entry.id] += 1;
      occurrences[entry.id] += entry.count;
    }
  }

  Analyzer analyzer;
  RowCounter counter;
  TermTable terms;
  std::vector<int64_t> n_texts, occurrences;  // by the worker's ids
  std::vector<uint32_t> rank;                 // the worker's ids to places in the common order
};

using TermWorkers = std::vector<std::unique_ptr<TermWorker>>;

void append_row(CountChunk& chunk, std::span<const Count> row) {
  chunk.entries.insert(chunk.entries.end(), row.begin(), row.end());
  chunk.row_ends.push_back(static_cast<int64_t>(chunk.entries.size()));
}

std::vector<CountChunk> read_texts(Texts texts, const Analysis& analysis, bool keep, TermWorkers& workers) {
  std::vector<CountChunk> chunks(keep ? n_chunks(size_of(texts)) : 0);
  const int n_threads = static_cast<int>(workers.size());
  parallel_for(size_of(texts), kGrain, n_threads, [&](int64_t begin, int64_t end, int worker) {
    if (!workers[worker]) workers[worker] = std::make_unique<TermWorker>(analysis);
    TermWorker& own = *workers[worker];
    CountChunk chunk{worker, {}, {}};
    for (int64_t i = begin; i < end; ++i) {
      own.read(texts[i]);
      if (keep) append_row(chunk, own.counter.counts());
    }
    if (!keep) return;
    chunk.entries.shrink_to_fit();
    chunks[begin / kGrain] = std::move(chunk);
  });
  return chunks;
}

// Puts all workers' terms in one table; `rank` then leads from a worker's ids to that table's.
TermTable merge_terms(TermWorkers& workers) {
  TermTable merged;
  for (auto& worker : workers) {
    if (!worker) continue;
    worker->rank.resize(worker->terms.size());
    for (int64_t i = 0; i < worker->terms.size(); ++i) {
      const std::string_view term = worker->terms.term(i);
      const auto* bytes = reinterpret_cast<const uint8_t*>(term.data());
      worker->rank[i] = merged.id_of(bytes, term.size(), term_hash(bytes, term.size()));
    }
    worker->terms = TermTable();
  }
  return merged;
}

// Brings terms into their final order and adds up what the workers counted.
TermCounts unite(TermWorkers& workers) {
  TermCounts out;
  const TermTable merged = merge_terms(workers);
  const std::vector<uint32_t> order = merged.sorted_ids();
  out.terms = copy_terms(merged, std::span(order));
  std::vector<uint32_t> place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  out.n_texts = Buffer<int64_t>(order.size(), 0);
  out.occurrences = Buffer<int64_t>(order.size(), 0);
  for (auto& worker : workers) {
    if (!worker) continue;
    for (size_t i = 0; i < worker->rank.size(); ++i) {
      uint32_t& rank = worker->rank[i];
      rank = place[rank];
      out.n_texts[rank] += worker->n_texts[i];
      out.occurrences[rank] += worker->occurrences[i];
    }
  }
  return out;
}

// Moves the chunks into one matrix and frees each on the way. rank(worker, id) is an entry's column.
template <class Rank>
CountMatrix gather(std::vector<CountChunk>& chunks, int64_t n_rows, int n_threads, Rank rank) {
  CountMatrix out{Buffer<int64_t>(n_rows + 1), {}, {}};
  std::vector<int64_t> begins{0};
  for (const CountChunk& chunk : chunks) begins.push_back(begins.back() + static_cast<int64_t>(chunk.entries.size()));
  out.indptr[0] = 0;
  out.indices = Buffer<int32_t>(begins.back());
  out.counts = Buffer<int32_t>(begins.back());
  parallel_for(static_cast<int64_t>(chunks.size()), 1, n_threads, [&](int64_t c, int64_t, int) {
    CountChunk chunk = std::move(chunks[c]);
    for (Count& entry : chunk.entries) entry.id = rank(chunk.worker, entry.id);
    int64_t begin = 0;
    for (size_t row = 0; row < chunk.row_ends.size(); ++row) {
      const int64_t end = chunk.row_ends[row];
      sort_by_id(std::span(chunk.entries).subspan(begin, end - begin));
      out.indptr[c * kGrain + row + 1] = begins[c] + end;
      begin = end;
    }
    for (size_t i = 0; i < chunk.entries.size(); ++i) {
      out.indices[begins[c] + i] = static_cast<int32_t>(chunk.entries[i].id);
      out.counts[begins[c] + i] = static_cast<int32_t>(chunk.entries[i].count);
    }
  });
  return out;
}

// Weighed rows of consecutive texts.
struct WeighedChunk {
  std::vector<int32_t> indices;
  std::vector<float> values;
  std::vector<int64_t> row_ends;
};

class Weigher {
 public:
  explicit Weigher(const Weighing& weighing) : weighing_(weighing) {}

  // Counts must come in ascending order of ids. Computes in double: the same sums as the reference.
  void append(WeighedChunk& chunk, std::span<const Count> row) {
    weights_.clear();
    double norm = 0;
    for (const Count entry : row) {
      const double idf = weighing_.idf.empty() ? 1.0 : weighing_.idf[entry.id];
      if (idf == 0) continue;
      const double weight = tf(entry.count) * idf;
      norm += weighing_.norm == Norm::l2 ? weight * weight : std::abs(weight);
      weights_.push_back(weight);
      chunk.indices.push_back(static_cast<int32_t>(entry.id));
    }
    if (weighing_.norm == Norm::l2) norm = std::sqrt(norm);
    const double divisor = weighing_.norm == Norm::none || norm == 0 ? 1.0 : norm;
    for (const double weight : weights_) chunk.values.push_back(static_cast<float>(weight / divisor));
    chunk.row_ends.push_back(static_cast<int64_t>(chunk.indices.size()));
  }

 private:
  double tf(uint32_t count) const {
    if (weighing_.binary || count == 1) return 1.0;
    return weighing_.sublinear ? 1.0 + std::log(static_cast<double>(count)) : count;
  }

  const Weighing weighing_;
  std::vector<double> weights_;  // of the row at hand
};

Csr join(std::vector<WeighedChunk>& chunks, int64_t n_rows, int64_t n_cols, int n_threads) {
  std::vector<int64_t> begins{0};
  for (const WeighedChunk& chunk : chunks) begins.push_back(begins.back() + static_cast<int64_t>(chunk.indices.size()));
  Csr out{Buffer<int64_t>(n_rows + 1), Buffer<int32_t>(begins.back()), Buffer<float>(begins.back()), n_cols};
  out.indptr[0] = 0;
  parallel_for(static_cast<int64_t>(chunks.size()), 1, n_threads, [&](int64_t c, int64_t, int) {
    const WeighedChunk chunk = std::move(chunks[c]);
    std::copy(chunk.indices.begin(), chunk.indices.end(), out.indices.data() + begins[c]);
    std::copy(chunk.values.begin(), chunk.values.end(), out.values.data() + begins[c]);
    for (size_t row = 0; row < chunk.row_ends.size(); ++row)
      out.indptr[c * kGrain + row + 1] = begins[c] + chunk.row_ends[row];
  });
  return out;
}

template <class Columns>
Csr transform_by(Texts texts, const Analysis& analysis, Columns columns, int64_t n_cols, const Weighing& weighing,
                 int n_threads) {
  std::vector<WeighedChunk> chunks(n_chunks(size_of(texts)));
  parallel_for(size_of(texts), kGrain, n_threads, [&](int64_t begin, int64_t end, int) {
    Analyzer analyzer(analysis);
    RowCounter counter;
    Weigher weigher(weighing);
    WeighedChunk& chunk = chunks[begin / kGrain];
    for (int64_t i = begin; i < end; ++i) {
      count_row(analyzer, counter, texts[i], columns);
      weigher.append(chunk, counter.sorted());
    }
  });
  return join(chunks, size_of(texts), n_cols, n_threads);
}

}  // namespace

TermCounts count_terms(Texts texts, const Analysis& analysis, bool with_matrix, int n_threads) {
  TermWorkers workers(std::max(n_threads, 1));
  std::vector<CountChunk> chunks = read_texts(texts, analysis, with_matrix, workers);
  TermCounts out = unite(workers);
  const auto rank = [&workers](int worker, uint32_t id) { return workers[worker]->rank[id]; };
  if (with_matrix) out.matrix = gather(chunks, size_of(texts), n_threads, rank);
  return out;
}

CountMatrix count_buckets(Texts texts, const Analysis& analysis, int32_t n_buckets, int n_threads) {
  std::vector<CountChunk> chunks(n_chunks(size_of(texts)));
  parallel_for(size_of(texts), kGrain, n_threads, [&](int64_t begin, int64_t end, int) {
    Analyzer analyzer(analysis);
    RowCounter counter;
    for (int64_t i = begin; i < end; ++i) {
      count_row(analyzer, counter, texts[i], Bucket{n_buckets});
      append_row(chunks[begin / kGrain], counter.counts());
    }
  });
  return gather(chunks, size_of(texts), n_threads, [](int, uint32_t id) { return id; });
}

Csr weigh(std::span<const int64_t> indptr, std::span<const int32_t> indices, std::span<const int32_t> counts,
          std::span<const int32_t> columns, int64_t n_cols, const Weighing& weighing, int n_threads) {
  const int64_t n_rows = static_cast<int64_t>(indptr.size()) - 1;
  std::vector<WeighedChunk> chunks(n_chunks(n_rows));
  parallel_for(n_rows, kGrain, n_threads, [&](int64_t begin, int64_t end, int) {
    Weigher weigher(weighing);
    std::vector<Count> row;
    for (int64_t i = begin; i < end; ++i) {
      row.clear();
      for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
        const int32_t column = columns.empty() ? indices[e] : columns[indices[e]];
        if (column >= 0) row.push_back({static_cast<uint32_t>(column), static_cast<uint32_t>(counts[e])});
      }
      weigher.append(chunks[begin / kGrain], row);
    }
  });
  return join(chunks, n_rows, n_cols, n_threads);
}

Csr transform(Texts texts, const Analysis& analysis, const Vocabulary& vocabulary, const Weighing& weighing,
              int n_threads) {
  return transform_by(texts, analysis, Known{&vocabulary}, vocabulary.size(), weighing, n_threads);
}

Csr transform(Texts texts, const Analysis& analysis, int32_t n_buckets, const Weighing& weighing, int n_threads) {
  return transform_by(texts, analysis, Bucket{n_buckets}, n_buckets, weighing, n_threads);
}

}  // namespace labelwood
