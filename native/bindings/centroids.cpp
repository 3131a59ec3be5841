// Centroids of labels, products of dense rows, and means of answers, as Python sees them.
#include "centroid.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "bind.h"
#include "dense_product.h"
#include "rows.h"

namespace labelwood {
namespace {

using namespace nb::literals;

void check_members(int64_t n_rows, const CsrView& members) {
  if (members.n_cols != n_rows) throw Error("the labels' members do not match the rows");
}

SparseArrays sparse_centroids(const SparseArgument& rows, const PatternArgument& members, int64_t max_features,
                              Threads n_threads) {
  const CsrView X = rows.finite(), of_labels = members.checked();
  check_members(X.n_rows(), of_labels);
  return to_numpy(without_gil([&] { return centroids(X, of_labels, max_features, n_threads); }));
}

NewMatrix<float> dense_centroids(const Matrix<float>& rows, const PatternArgument& members, Threads n_threads) {
  const DenseView X = dense_view(rows);
  const CsrView of_labels = members.checked();
  check_members(X.n_rows, of_labels);
  return to_numpy(without_gil([&] { return centroids(X, of_labels, n_threads); }), of_labels.n_rows(), X.n_cols);
}

AnswerArrays sparse_centroid_topk(const SparseArgument& rows, const SparseArgument& weights, int64_t k,
                                  const LimitsArgument& limits, Threads n_threads) {
  const CsrView X = rows.finite(), W = weights.trusted();
  if (W.n_rows() != X.n_cols || k < 1) throw Error("the rows have other features than the centroids");
  const CentroidOptions options{k, limits.min_score, limits.labels(W.n_cols)};
  return to_numpy(without_gil([&] { return rank_by_centroids(X, W, options, n_threads); }));
}

AnswerArrays dense_centroid_topk(const Matrix<float>& rows, const Matrix<float>& weights, int64_t k,
                                 const LimitsArgument& limits, Threads n_threads) {
  const DenseView X = dense_view(rows), W = dense_view(weights);
  if (X.n_cols != W.n_cols || k < 1) throw Error("the rows have other features than the centroids");
  const CentroidOptions options{k, limits.min_score, limits.labels(W.n_rows)};
  return to_numpy(without_gil([&] { return rank_by_centroids(X, W, options, n_threads); }));
}

NewMatrix<float> product(const Matrix<float>& rows, const Matrix<float>& matrix, Threads n_threads) {
  const DenseView X = dense_view(rows), M = dense_view(matrix);
  if (X.n_cols != M.n_rows) throw Error("the rows have other features than the matrix");
  return to_numpy(without_gil([&] { return dense_product(X, M, n_threads); }), X.n_rows, M.n_cols);
}

// One model's answers.
struct AnswersArgument {
  static constexpr auto kPython = nb::detail::const_name("TopK");

  Matrix<int32_t> ids;
  Matrix<float> scores;

  void read(const Fields& from) {
    from.read("ids"_f, ids);
    from.read("scores"_f, scores);
  }

  AnswersView value() const { return {view(ids), view(scores), static_cast<int64_t>(ids.shape(1))}; }
};

AnswerArrays mean_of_answers(const nb::typed<nb::sequence, AnswersArgument>& answers, int64_t k, int64_t tier,
                             Threads n_threads) {
  std::vector<AnswersArgument> kept;
  for (const nb::handle one : answers) kept.emplace_back().read(Fields(one));
  if (kept.empty() || k < 1 || tier < 1) throw Error("there are no answers to average");
  std::vector<AnswersView> models;
  const size_t n_rows = kept[0].ids.shape(0);
  for (const AnswersArgument& one : kept) {
    if (one.ids.shape(0) != n_rows || one.scores.shape(0) != n_rows || one.ids.shape(1) != one.scores.shape(1))
      throw Error("answers of different shapes");
    models.push_back(one.value());
  }
  return to_numpy(without_gil([&] { return mean_of(models, static_cast<int64_t>(n_rows), k, tier, n_threads); }));
}

}  // namespace

void bind_centroids(nb::module_& m) {
  m.def("sparse_centroids", sparse_centroids, "rows"_a, "members"_a, "max_features"_a, "n_threads"_a,
        "Unit-length sums of each label's rows: labels × features, sparse.");
  m.def("dense_centroids", dense_centroids, "rows"_a, "members"_a, "n_threads"_a, "The same for dense rows.");
  m.def("sparse_centroid_topk", sparse_centroid_topk, "rows"_a, "weights"_a, "k"_a, "limits"_a, "n_threads"_a,
        "Ids and scores of the labels whose centroids fit each row best.");
  m.def("dense_centroid_topk", dense_centroid_topk, "rows"_a, "weights"_a, "k"_a, "limits"_a, "n_threads"_a,
        "The same for dense rows.");
  m.def("dense_product", product, "rows"_a, "matrix"_a, "n_threads"_a,
        "Rows × a matrix; a row's numbers are the same whatever its company.");
  m.def("mean_of", mean_of_answers, "answers"_a, "k"_a, "tier"_a, "n_threads"_a,
        "The best labels by the mean of several models' answers.");
}

}  // namespace labelwood
