// Ranking metrics, as Python sees them.
#include "metrics.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "bind.h"
#include "rows.h"

namespace labelwood {
namespace {

using namespace nb::literals;

template <class Sums, class T>
nb::list column_of(const std::vector<Sums>& sums, T Sums::* field) {
  nb::list column;
  for (const Sums& at_k : sums) column.append(at_k.*field);
  return column;
}

Named to_python(Ranking&& r) {
  nb::dict result;
  result["predicted"] = column_of(r.rows, &RowSums::predicted);
  result["correct"] = column_of(r.rows, &RowSums::correct);
  result["recall"] = column_of(r.rows, &RowSums::recall);
  result["ndcg"] = column_of(r.rows, &RowSums::ndcg);
  result["gain"] = column_of(r.rows, &RowSums::gain);
  result["best_gain"] = column_of(r.rows, &RowSums::best_gain);
  result["psndcg"] = column_of(r.rows, &RowSums::psndcg);
  result["best_psndcg"] = column_of(r.rows, &RowSums::best_psndcg);
  result["covered"] = column_of(r.labels, &LabelSums::covered);
  result["in_use"] = column_of(r.labels, &LabelSums::in_use);
  result["f1"] = column_of(r.labels, &LabelSums::f1);
  result["n_true"] = r.n_true;
  result["n_occurring"] = r.n_occurring;
  result["label_truths"] = to_numpy(std::move(r.truths));
  result["label_predictions"] = to_numpy(std::move(r.predictions));
  result["label_corrects"] = to_numpy(std::move(r.corrects));
  return nb::borrow<Named>(result);
}

Named rank_predictions_of(const Matrix<int32_t>& ids, const SparseArgument& labels, const Array<int32_t>& ks,
                          const Array<double>& gains, bool count_labels, Threads n_threads) {
  const Predictions top{view(ids), static_cast<int64_t>(ids.shape(0)), static_cast<int64_t>(ids.shape(1))};
  const CsrView truth = labels.finite();
  const RankingOptions options{view(ks), view(gains), count_labels};
  return to_python(without_gil([&] { return rank_predictions(top, truth, options, n_threads); }));
}

AnswerArrays best_entries_of(const SparseArgument& matrix, int64_t k, Threads n_threads) {
  if (k < 1) throw Error("k must be at least 1");
  const CsrView scores = matrix.checked();
  return to_numpy(without_gil([&] { return best_entries(scores, k, n_threads); }));
}

}  // namespace

void bind_metrics(nb::module_& m) {
  m.def("rank_predictions", rank_predictions_of, "ids"_a, "labels"_a, nb::kw_only(), "ks"_a, "gains"_a,
        "count_labels"_a, "n_threads"_a, "Sums over rows and labels from which ranking metrics are made.");
  m.def("best_entries", best_entries_of, "scores"_a, "k"_a, "n_threads"_a,
        "Ids and scores of the k highest entries of each row of a sparse matrix.");
}

}  // namespace labelwood
