#include "vectorizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "columns.h"
#include "parallel.h"
#include "row_counter.h"

namespace labelwood {
namespace {

constexpr int64_t kGrain = 64;  // texts a chunk

int64_t size_of(Texts texts) { return static_cast<int64_t>(texts.size()); }

int64_t n_chunks(int64_t n_rows) { return (n_rows + kGrain - 1) / kGrain; }

// Memory that a thread's texts use one after another.
struct Space {
  ColumnCounter columns;
  std::vector<Count> spare;     // for sorting
  std::vector<double> weights;  // of one row

  // Gives back what only very long texts need.
  void forget_long_texts() {
    constexpr size_t kLong = size_t{1} << 20;
    if (columns.room() <= kLong) return;
    columns.give_back_room();
    spare = {};
    weights = {};
  }
};

Space& own_space() {
  thread_local const auto space = std::make_unique<Space>();
  return *space;
}

// Counts of consecutive texts, row after row.
struct CountChunk {
  int worker = 0;
  std::vector<Count> entries;
  std::vector<int64_t> row_ends;
};

// Each worker meets terms in an order of its own; the common order is made afterwards.
struct TermWorker {
  std::span<const Count> read(Text text, const Analysis& analysis, ColumnCounter& columns) {
    const std::span<const Count> row = columns.count(analysis, text, terms);
    n_texts.resize(terms.size());
    occurrences.resize(terms.size());
    for (const Count entry : row) {
      n_texts[entry.id] += 1;
      occurrences[entry.id] += entry.count;
    }
    return row;
  }

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
    if (!workers[worker]) workers[worker] = std::make_unique<TermWorker>();
    Space& space = own_space();
    CountChunk chunk{worker, {}, {}};
    for (int64_t i = begin; i < end; ++i) {
      const std::span<const Count> row = workers[worker]->read(texts[i], analysis, space.columns);
      if (keep) append_row(chunk, row);
    }
    space.forget_long_texts();
    if (!keep) return;
    chunk.entries.shrink_to_fit();
    chunks[begin / kGrain] = std::move(chunk);
  });
  return chunks;
}

// Puts all workers' terms in the first one's table; `rank` then leads from a worker's ids to that table's.
TermTable merge_terms(TermWorkers& workers) {
  TermTable merged;
  for (auto& worker : workers) {
    if (!worker) continue;
    worker->rank.resize(worker->terms.size());
    if (merged.size() == 0) {
      std::iota(worker->rank.begin(), worker->rank.end(), 0u);
      merged = std::exchange(worker->terms, TermTable());
      continue;
    }
    constexpr int64_t kTerms = 1 << 14;  // between two looks for an interrupt
    parallel_for(worker->terms.size(), kTerms, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const std::string_view term = worker->terms.term(i);
        const auto* bytes = reinterpret_cast<const uint8_t*>(term.data());
        worker->rank[i] = static_cast<uint32_t>(merged.find(TermKey::of(term), bytes, term.size()));
      }
    });
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
    std::vector<Count>& spare = own_space().spare;
    for (Count& entry : chunk.entries) entry.id = rank(chunk.worker, entry.id);
    int64_t begin = 0;
    for (size_t row = 0; row < chunk.row_ends.size(); ++row) {
      const int64_t end = chunk.row_ends[row];
      sort_by_id(std::span(chunk.entries).subspan(begin, end - begin), spare);
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

// 1 + log(count), ready for the counts that most terms have.
class LogarithmicCounts {
 public:
  LogarithmicCounts() {
    for (uint32_t count = 1; count < few_.size(); ++count) few_[count] = 1.0 + std::log(static_cast<double>(count));
  }
  double operator[](uint32_t count) const {
    return count < few_.size() ? few_[count] : 1.0 + std::log(static_cast<double>(count));
  }

 private:
  std::array<double, 256> few_{};
};
const LogarithmicCounts logarithmic;

double weight_of(uint32_t count, const Weighing& weighing) {
  if (weighing.binary) return 1.0;
  return weighing.sublinear_tf ? logarithmic[count] : count;
}

// Counts must come in ascending order of ids. Computes in double: the same sums as the reference.
void append_weighed(WeighedChunk& chunk, std::span<const Count> row, const Weighing& weighing) {
  std::vector<double>& weights = own_space().weights;
  const size_t begin = chunk.indices.size();
  chunk.indices.resize(begin + row.size());
  weights.resize(row.size());
  size_t n = 0;
  double norm = 0;
  for (const Count entry : row) {
    const double idf = weighing.idf.empty() ? 1.0 : weighing.idf[entry.id];
    if (idf == 0) continue;
    const double weight = weight_of(entry.count, weighing) * idf;
    norm += weighing.norm == Norm::l2 ? weight * weight : std::abs(weight);
    weights[n] = weight;
    chunk.indices[begin + n++] = static_cast<int32_t>(entry.id);
  }
  if (weighing.norm == Norm::l2) norm = std::sqrt(norm);
  const double divisor = weighing.norm == Norm::none || norm == 0 ? 1.0 : norm;
  chunk.indices.resize(begin + n);
  chunk.values.resize(begin + n);
  for (size_t i = 0; i < n; ++i) chunk.values[begin + i] = static_cast<float>(weights[i] / divisor);
  chunk.row_ends.push_back(static_cast<int64_t>(begin + n));
}

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
Csr transform_by(Texts texts, const Analysis& analysis, const Columns& columns, int64_t n_cols,
                 const Weighing& weighing, int n_threads) {
  std::vector<WeighedChunk> chunks(n_chunks(size_of(texts)));
  parallel_for(size_of(texts), kGrain, n_threads, [&](int64_t begin, int64_t end, int) {
    Space& space = own_space();
    for (int64_t i = begin; i < end; ++i) {
      const std::span<Count> row = space.columns.count(analysis, texts[i], columns);
      sort_by_id(row, space.spare);
      append_weighed(chunks[begin / kGrain], row, weighing);
    }
    space.forget_long_texts();
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
  const Buckets buckets{n_buckets};
  std::vector<CountChunk> chunks(n_chunks(size_of(texts)));
  parallel_for(size_of(texts), kGrain, n_threads, [&](int64_t begin, int64_t end, int) {
    Space& space = own_space();
    for (int64_t i = begin; i < end; ++i)
      append_row(chunks[begin / kGrain], space.columns.count(analysis, texts[i], buckets));
    space.forget_long_texts();
  });
  return gather(chunks, size_of(texts), n_threads, [](int, uint32_t id) { return id; });
}

Csr weigh(std::span<const int64_t> indptr, std::span<const int32_t> indices, std::span<const int32_t> counts,
          std::span<const int32_t> columns, int64_t n_cols, const Weighing& weighing, int n_threads) {
  const int64_t n_rows = static_cast<int64_t>(indptr.size()) - 1;
  std::vector<WeighedChunk> chunks(n_chunks(n_rows));
  parallel_for(n_rows, kGrain, n_threads, [&](int64_t begin, int64_t end, int) {
    std::vector<Count> row;
    for (int64_t i = begin; i < end; ++i) {
      row.clear();
      for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
        const int32_t column = columns.empty() ? indices[e] : columns[indices[e]];
        if (column >= 0) row.push_back({static_cast<uint32_t>(column), static_cast<uint32_t>(counts[e])});
      }
      append_weighed(chunks[begin / kGrain], row, weighing);
    }
  });
  return join(chunks, n_rows, n_cols, n_threads);
}

Csr transform(Texts texts, const Analysis& analysis, const TermIndex& terms, const Weighing& weighing, int n_threads) {
  return transform_by(texts, analysis, terms, terms.size(), weighing, n_threads);
}

Csr transform(Texts texts, const Analysis& analysis, int32_t n_buckets, const Weighing& weighing, int n_threads) {
  return transform_by(texts, analysis, Buckets{n_buckets}, n_buckets, weighing, n_threads);
}

}  // namespace labelwood
