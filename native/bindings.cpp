// The only file that knows Python: checks shapes and dtypes, releases the GIL, calls.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <string_view>

#include "buffer.h"
#include "centroid.h"
#include "error.h"
#include "metrics.h"
#include "parallel.h"
#include "simd/kernels.h"
#include "sparse.h"
#include "sparse_text.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace labelwood;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NewMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
std::span<const T> view(const Array<T>& a) {
  return {a.data(), a.size()};
}

template <class T>
nb::capsule owner_of(T* memory) {
  return nb::capsule(memory, [](void* p) noexcept { std::free(p); });
}

template <class T>
NewArray<T> to_numpy(Buffer<T>&& buffer) {
  const size_t size = buffer.size();
  T* memory = buffer.release();
  return NewArray<T>(memory, {size}, owner_of(memory));
}

template <class T>
NewMatrix<T> to_numpy(Buffer<T>&& buffer, size_t rows, size_t cols) {
  T* memory = buffer.release();
  return NewMatrix<T>(memory, {rows, cols}, owner_of(memory));
}

nb::tuple to_numpy(Csr&& m) {
  return nb::make_tuple(to_numpy(std::move(m.indptr)), to_numpy(std::move(m.indices)), to_numpy(std::move(m.values)));
}

// A CSR matrix from Python. Rows must lie inside the arrays; native code relies on it.
CsrView csr_view(const Array<int64_t>& indptr, const Array<int32_t>& indices, std::span<const float> values, int64_t n_cols) {
  CsrView m{view(indptr), view(indices), values, n_cols};
  if (m.indptr.empty() || m.indptr.front() != 0 || m.indptr.back() != static_cast<int64_t>(m.indices.size()))
    throw Error("a sparse matrix has a row pointer that does not match its entries");
  if (!m.values.empty() && m.values.size() != m.indices.size())
    throw Error("a sparse matrix has a different number of values and column indices");
  for (int64_t i = 0; i < m.n_rows(); ++i)
    if (m.indptr[i] > m.indptr[i + 1]) throw Error("a sparse matrix has a row pointer that decreases");
  for (int32_t column : m.indices)
    if (column < 0 || column >= n_cols) throw Error("a sparse matrix has a column index outside its shape");
  return m;
}

// A matrix of a model, checked when it was loaded; checking it again at each call would cost more than the call.
CsrView trusted_csr_view(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values, int64_t n_cols) {
  return {view(indptr), view(indices), view(values), n_cols};
}

DenseView dense_view(const Matrix<float>& m) {
  return {m.data(), static_cast<int64_t>(m.shape(0)), static_cast<int64_t>(m.shape(1))};
}

nb::tuple to_numpy(Answers&& a) {
  const size_t k = a.k, n_rows = a.ids.size() / k;
  return nb::make_tuple(to_numpy(std::move(a.ids), n_rows, k), to_numpy(std::move(a.scores), n_rows, k));
}

template <class Call>
auto without_gil(Call call) {
  nb::gil_scoped_release release;
  return call();
}

void check_members(int64_t n_rows, const CsrView& members) {
  if (members.n_cols != n_rows) throw Error("the labels' members do not match the rows");
}

nb::tuple sparse_centroids(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values, int64_t n_cols,
                           const Array<int64_t>& member_indptr, const Array<int32_t>& member_indices, int64_t n_rows, int n_threads) {
  const CsrView X = csr_view(indptr, indices, view(values), n_cols), members = csr_view(member_indptr, member_indices, {}, n_rows);
  check_members(X.n_rows(), members);
  return to_numpy(without_gil([&] { return centroids(X, members, n_threads); }));
}

NewMatrix<float> dense_centroids(const Matrix<float>& rows, const Array<int64_t>& member_indptr, const Array<int32_t>& member_indices,
                                 int64_t n_rows, int n_threads) {
  const DenseView X = dense_view(rows);
  const CsrView members = csr_view(member_indptr, member_indices, {}, n_rows);
  check_members(X.n_rows, members);
  return to_numpy(without_gil([&] { return centroids(X, members, n_threads); }), members.n_rows(), X.n_cols);
}

nb::tuple sparse_centroid_topk(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values, int64_t n_cols,
                               const Array<int64_t>& weight_indptr, const Array<int32_t>& weight_indices,
                               const Array<float>& weight_values, int64_t n_labels, int64_t k, int n_threads) {
  const CsrView X = csr_view(indptr, indices, view(values), n_cols);
  const CsrView weights = trusted_csr_view(weight_indptr, weight_indices, weight_values, n_labels);
  if (weights.n_rows() != n_cols || k < 1) throw Error("the rows have other features than the centroids");
  return to_numpy(without_gil([&] { return rank_by_centroids(X, weights, k, n_threads); }));
}

nb::tuple dense_centroid_topk(const Matrix<float>& rows, const Matrix<float>& weights, int64_t k, int n_threads) {
  const DenseView X = dense_view(rows), W = dense_view(weights);
  if (X.n_cols != W.n_cols || k < 1) throw Error("the rows have other features than the centroids");
  return to_numpy(without_gil([&] { return rank_by_centroids(X, W, k, n_threads); }));
}

nb::tuple read_sparse_text(nb::bytes text, bool labels, bool svmlight, int64_t n_labels, int64_t n_features, int n_threads) {
  const std::string_view bytes(text.c_str(), text.size());
  SparseRows rows = without_gil([&] { return parse_sparse_text(bytes, {labels, svmlight, n_labels, n_features}, n_threads); });
  const int64_t label_columns = rows.labels.n_cols, feature_columns = rows.features.n_cols;
  return nb::make_tuple(to_numpy(std::move(rows.labels)), label_columns, to_numpy(std::move(rows.features)), feature_columns);
}

nb::bytes write_sparse_text(const Array<int64_t>& label_indptr, const Array<int32_t>& label_indices,
                            const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values, int n_threads) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const CsrView labels = csr_view(label_indptr, label_indices, {}, kAny), features = csr_view(indptr, indices, view(values), kAny);
  if (labels.n_rows() != 0 && labels.n_rows() != features.n_rows()) throw Error("labels and features have different numbers of rows");
  const std::string text = without_gil([&] { return format_sparse_text(labels, features, n_threads); });
  return nb::bytes(text.data(), text.size());
}

void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Metrics.

template <class Sums, class T>
nb::list column_of(const std::vector<Sums>& sums, T Sums::*field) {
  nb::list column;
  for (const Sums& at_k : sums) column.append(at_k.*field);
  return column;
}

nb::dict to_python(Ranking&& r) {
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
  return result;
}

nb::dict rank_predictions_of(const Matrix<int32_t>& ids, const Array<int64_t>& indptr, const Array<int32_t>& indices,
                             const Array<float>& values, int64_t n_cols, const Array<int32_t>& ks,
                             const Array<double>& gains, bool count_labels, int n_threads) {
  const Predictions top{{ids.data(), ids.size()}, static_cast<int64_t>(ids.shape(0)), static_cast<int64_t>(ids.shape(1))};
  const CsrView truth = csr_view(indptr, indices, view(values), n_cols);
  return to_python(without_gil([&] { return rank_predictions(top, truth, {view(ks), view(gains), count_labels}, n_threads); }));
}

nb::tuple best_entries_of(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                          int64_t n_cols, int64_t k, int n_threads) {
  if (k < 1) throw Error("k must be at least 1");
  const CsrView scores = csr_view(indptr, indices, view(values), n_cols);
  if (scores.values.size() != scores.indices.size()) throw Error("a matrix of scores has no values");
  return to_numpy(without_gil([&] { return best_entries(scores, k, n_threads); }));
}

nb::object error_class(const char* name) { return nb::module_::import_("labelwood.errors").attr(name); }

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const LineError& e) {
    nb::object error = error_class("NativeLineError")(e.what(), e.line);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (const Error& e) {
    PyErr_SetString(error_class("LabelwoodError").ptr(), e.what());
  }
}

}  // namespace

NB_MODULE(_native, m) {
  nb::register_exception_translator(translate);
  set_interrupt_check(check_signals);

  m.def("simd_level", [] { return simd::kernels().level; }, "The SIMD level chosen for this processor.");

  m.def("read_sparse_text", read_sparse_text, "text"_a, "labels"_a, "svmlight"_a, "n_labels"_a, "n_features"_a, "n_threads"_a,
        "Rows of the field's text format: (labels, label columns, features, feature columns).");
  m.def("write_sparse_text", write_sparse_text, "label_indptr"_a, "label_indices"_a, "indptr"_a, "indices"_a, "values"_a,
        "n_threads"_a, "The reverse; without label rows, lines hold features only.");

  m.def("check_csr", [](const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values, int64_t n_cols) {
          csr_view(indptr, indices, view(values), n_cols); },
        "Raises unless a sparse matrix is sound.");
  m.def("sparse_centroids", sparse_centroids, "Unit-length sums of each label's rows: labels × features, sparse.");
  m.def("dense_centroids", dense_centroids, "The same for dense rows.");
  m.def("sparse_centroid_topk", sparse_centroid_topk, "Ids and scores of the labels whose centroids fit each row best.");
  m.def("dense_centroid_topk", dense_centroid_topk, "The same for dense rows.");

  m.def("rank_predictions", rank_predictions_of, "Sums over rows and labels from which ranking metrics are made.");
  m.def("best_entries", best_entries_of, "Ids and scores of the k highest entries of each row of a sparse matrix.");
}
