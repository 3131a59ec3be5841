// Ranking metrics: one pass over rows collects the sums from which all metrics at all k are made.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "answers.h"
#include "buffer.h"
#include "sparse.h"

namespace labelwood {

// Predicted label ids of each row, best first. Negative ids are padding.
struct Predictions {
  std::span<const int32_t> ids;  // n_rows × width
  int64_t n_rows = 0;
  int64_t width = 0;

  std::span<const int32_t> row(int64_t i, int64_t k) const { return ids.subspan(i * width, k); }
};

// Sums over rows at one k. The gains are inverse propensities; they stay zero where none are given.
struct RowSums {
  int64_t predicted = 0;  // positions that hold a label
  int64_t correct = 0;    // positions that hold a true label for the first time in their row
  double recall = 0;      // correct / true labels of the row
  double ndcg = 0;        // discounted correct / the most that the row's number of true labels allows
  double gain = 0;        // gains of the correct labels, for PSP
  double best_gain = 0;   // the same for the row's best k true labels
  double psndcg = 0;      // like ndcg, with gains
  double best_psndcg = 0;

  void add(const RowSums& other);
};

// Sums over labels at one k.
struct LabelSums {
  int64_t covered = 0;  // labels that are correct in at least one row
  int64_t in_use = 0;   // labels that are true or predicted in at least one row
  double f1 = 0;        // F1 = 2 correct / (true + predicted), over the labels in use
};

struct RankingOptions {
  std::span<const int32_t> ks;    // ascending, from 1 to the predictions' width
  std::span<const double> gains;  // one for each column of truth, or none
  bool count_labels = false;      // whether to fill what Ranking says about labels
};

struct Ranking {
  std::vector<RowSums> rows;      // one for each k
  std::vector<LabelSums> labels;  // one for each k
  int64_t n_true = 0;             // entries of truth
  int64_t n_occurring = 0;        // columns of truth with an entry
  // For each column of truth, at the largest k: its entries, its predictions, and how many of those are correct.
  Buffer<int64_t> truths, predictions, corrects;
};

// Columns of truth ascend in each row. Ids beyond its last column are wrong answers.
Ranking rank_predictions(const Predictions& top, const CsrView& truth, const RankingOptions& options, int n_threads);

// The k stored entries of each row with the highest values, ties by ascending column. A NaN is never chosen.
Answers best_entries(const CsrView& scores, int64_t k, int n_threads);

}  // namespace labelwood
