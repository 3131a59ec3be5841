#include "metrics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "error.h"
#include "parallel.h"
#include "topk.h"

namespace labelwood {
namespace {

constexpr int64_t kRowsPerChunk = 2048;

using Counters = std::vector<std::atomic<uint32_t>>;

// Rows of each label. Threads share the counters: whole numbers add up to the same in any order. A position counts
// at the first k that reaches it; sums over the ks before give the counts at a k.
struct LabelCounters {
  LabelCounters(int64_t n_labels, size_t n_ks)
      : truths(n_labels), predictions(n_labels * n_ks), corrects(n_labels * n_ks) {}
  Counters truths, predictions, corrects;
};

void increment(std::atomic<uint32_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

// A predicted id that truth has no column for, and the index of the first k that reaches its position.
using Stray = std::pair<int32_t, int32_t>;

struct Chunk {
  std::vector<RowSums> sums;
  std::vector<Stray> strays;
};

// discount[r] = 1 / log2(r + 2) for position r; reach[n] is the sum of the first n.
struct Discounts {
  explicit Discounts(int64_t k) : discount(k), reach(k + 1, 0.0) {
    for (int64_t r = 0; r < k; ++r) {
      discount[r] = 1.0 / std::log2(static_cast<double>(r + 2));
      reach[r + 1] = reach[r] + discount[r];
    }
  }
  std::vector<double> discount, reach;
};

// Scores the rows of one chunk after another; owns the scratch space of one thread.
class RowScorer {
 public:
  RowScorer(const Predictions& top, const CsrView& truth, const RankingOptions& options, const Discounts& discounts,
            LabelCounters* counters)
      : top_(top), truth_(truth), options_(options), discounts_(discounts), counters_(counters), best_(max_k()) {}

  void score(int64_t row, Chunk& chunk) {
    const auto truths = truth_.row(row);
    check_ascending(row, truths);
    found_.assign(truths.size(), 0);
    best_.clear();
    if (!options_.gains.empty())
      for (int32_t label : truths) best_.offer(options_.gains[label], label);
    const auto best = best_.sorted();
    if (counters_ != nullptr)
      for (int32_t label : truths) increment(counters_->truths[label]);
    walk(top_.row(row, max_k()), truths, best, chunk);
  }

 private:
  // What has been collected down to a position of the row.
  struct Running {
    int64_t predicted = 0, correct = 0;
    double dcg = 0, gain = 0, best_gain = 0, gain_dcg = 0, best_gain_dcg = 0;
  };

  int32_t max_k() const { return options_.ks.back(); }

  static void check_ascending(int64_t row, std::span<const int32_t> labels) {
    for (size_t i = 1; i < labels.size(); ++i)
      if (labels[i - 1] >= labels[i])
        throw Error("row " + std::to_string(row) +
                    " of Y has columns that do not ascend; call Y.sum_duplicates() first");
  }

  void walk(std::span<const int32_t> ids, std::span<const int32_t> truths, std::span<const Scored<double>> best,
            Chunk& chunk) {
    Running run;
    size_t at = 0;
    for (size_t r = 0; r < ids.size(); ++r) {
      if (ids[r] >= 0) take(ids[r], r, at, truths, run, chunk);
      if (r < best.size()) {
        run.best_gain += best[r].score;
        run.best_gain_dcg += best[r].score * discounts_.discount[r];
      }
      if (static_cast<int32_t>(r + 1) == options_.ks[at]) {
        add(run, truths.size(), r + 1, chunk.sums[at]);
        ++at;
      }
    }
  }

  void take(int32_t id, size_t r, size_t at, std::span<const int32_t> truths, Running& run, Chunk& chunk) {
    ++run.predicted;
    const bool correct = find(id, truths);
    if (correct) {
      const double gain = options_.gains.empty() ? 0.0 : options_.gains[id];
      ++run.correct;
      run.dcg += discounts_.discount[r];
      run.gain += gain;
      run.gain_dcg += gain * discounts_.discount[r];
    }
    if (counters_ != nullptr) count(id, at, correct, chunk);
  }

  // Whether the label is true and not met before in this row.
  bool find(int32_t id, std::span<const int32_t> truths) {
    const auto place = std::lower_bound(truths.begin(), truths.end(), id);
    if (place == truths.end() || *place != id) return false;
    return std::exchange(found_[place - truths.begin()], 1) == 0;
  }

  void count(int32_t id, size_t at, bool correct, Chunk& chunk) {
    if (id >= truth_.n_cols) {
      chunk.strays.emplace_back(id, static_cast<int32_t>(at));
      return;
    }
    const size_t place = static_cast<size_t>(id) * options_.ks.size() + at;
    increment(counters_->predictions[place]);
    if (correct) increment(counters_->corrects[place]);
  }

  // A row without true labels adds nothing but its predictions.
  void add(const Running& run, size_t n_truths, size_t k, RowSums& sums) const {
    sums.predicted += run.predicted;
    if (n_truths == 0) return;
    const double reach = discounts_.reach[std::min(n_truths, k)];
    sums.correct += run.correct;
    sums.recall += static_cast<double>(run.correct) / static_cast<double>(n_truths);
    sums.ndcg += run.dcg / reach;
    sums.gain += run.gain;
    sums.best_gain += run.best_gain;
    sums.psndcg += run.gain_dcg / reach;
    sums.best_psndcg += run.best_gain_dcg / reach;
  }

  const Predictions& top_;
  const CsrView& truth_;
  const RankingOptions& options_;
  const Discounts& discounts_;
  LabelCounters* counters_;
  TopK<double> best_;
  std::vector<char> found_;
};

void check(const Predictions& top, const CsrView& truth, const RankingOptions& options) {
  if (top.n_rows != truth.n_rows() || top.ids.size() != static_cast<size_t>(top.n_rows * top.width))
    throw Error("the predictions and Y have different numbers of rows; pass the Y of the rows that were predicted");
  if (top.n_rows > std::numeric_limits<int32_t>::max())
    throw Error("more than 2147483647 rows cannot be evaluated at once; evaluate them in parts");
  int32_t before = 0;
  for (int32_t k : options.ks) {
    if (k <= before || k > top.width) throw Error("ks must ascend from 1 to the number of predictions of a row");
    before = k;
  }
  if (options.ks.empty()) throw Error("ks is empty; give at least one k");
  if (!options.gains.empty() && static_cast<int64_t>(options.gains.size()) != truth.n_cols)
    throw Error("there must be as many inverse propensities as Y has columns");
}

std::vector<Chunk> score_rows(const Predictions& top, const CsrView& truth, const RankingOptions& options,
                              LabelCounters* counters, int n_threads) {
  const Discounts discounts(options.ks.back());
  std::vector<Chunk> chunks((top.n_rows + kRowsPerChunk - 1) / kRowsPerChunk);
  parallel_for(top.n_rows, kRowsPerChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    Chunk& chunk = chunks[begin / kRowsPerChunk];
    chunk.sums.resize(options.ks.size());
    RowScorer scorer(top, truth, options, discounts, counters);
    for (int64_t row = begin; row < end; ++row) scorer.score(row, chunk);
  });
  return chunks;
}

// Counters into sums over labels; also keeps the counts themselves at the largest k.
void sum_labels(const LabelCounters& counters, int64_t n_labels, Ranking& result) {
  const size_t n_ks = result.labels.size();
  result.truths = Buffer<int64_t>(n_labels);
  result.predictions = Buffer<int64_t>(n_labels);
  result.corrects = Buffer<int64_t>(n_labels);
  for (int64_t label = 0; label < n_labels; ++label) {
    const int64_t truths = counters.truths[label];
    int64_t predictions = 0, corrects = 0;
    for (size_t at = 0; at < n_ks; ++at) {
      predictions += counters.predictions[label * n_ks + at];
      corrects += counters.corrects[label * n_ks + at];
      if (truths + predictions == 0) continue;
      LabelSums& sums = result.labels[at];
      ++sums.in_use;
      sums.covered += corrects > 0;
      sums.f1 += 2.0 * static_cast<double>(corrects) / static_cast<double>(truths + predictions);
    }
    result.n_occurring += truths > 0;
    result.truths[label] = truths;
    result.predictions[label] = predictions;
    result.corrects[label] = corrects;
  }
}

// Labels that truth has no column for are in use too, with an F1 of zero.
void sum_strays(const std::vector<Chunk>& chunks, Ranking& result) {
  std::vector<Stray> strays;
  for (const Chunk& chunk : chunks) strays.insert(strays.end(), chunk.strays.begin(), chunk.strays.end());
  std::sort(strays.begin(), strays.end());
  for (size_t i = 0; i < strays.size(); ++i) {
    if (i > 0 && strays[i - 1].first == strays[i].first) continue;
    for (size_t at = strays[i].second; at < result.labels.size(); ++at) ++result.labels[at].in_use;
  }
}

}  // namespace

void RowSums::add(const RowSums& other) {
  predicted += other.predicted;
  correct += other.correct;
  recall += other.recall;
  ndcg += other.ndcg;
  gain += other.gain;
  best_gain += other.best_gain;
  psndcg += other.psndcg;
  best_psndcg += other.best_psndcg;
}

Ranking rank_predictions(const Predictions& top, const CsrView& truth, const RankingOptions& options, int n_threads) {
  check(top, truth, options);
  const size_t n_ks = options.ks.size();
  const bool count = options.count_labels;
  LabelCounters counters(count ? truth.n_cols : 0, n_ks);
  const auto chunks = score_rows(top, truth, options, count ? &counters : nullptr, n_threads);

  Ranking result;
  result.rows.resize(n_ks);
  result.labels.resize(n_ks);
  result.n_true = static_cast<int64_t>(truth.indices.size());
  for (const Chunk& chunk : chunks)
    for (size_t at = 0; at < n_ks; ++at) result.rows[at].add(chunk.sums[at]);
  if (count) {
    sum_labels(counters, truth.n_cols, result);
    sum_strays(chunks, result);
  }
  return result;
}

Answers best_entries(const CsrView& scores, int64_t k, int n_threads) {
  Answers result(scores.n_rows(), k);
  parallel_for(scores.n_rows(), kRowsPerChunk, n_threads, [&](int64_t begin, int64_t end, int) {
    TopK<float> best(k);
    for (int64_t row = begin; row < end; ++row) {
      const auto columns = scores.row(row);
      const auto values = scores.row_values(row);
      for (size_t i = 0; i < columns.size(); ++i) best.offer(values[i], columns[i]);
      result.put(row, best);
    }
  });
  return result;
}

}  // namespace labelwood
