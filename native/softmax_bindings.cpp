// Softmax trees as Python sees them.
#include "softmax_bindings.h"

#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "product_codes.h"
#include "python.h"
#include "softmax_search.h"
#include "softmax_training.h"

namespace labelwood {
namespace {

template <class T>
using Writable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

Scaling scaling_of(bool unit) { return unit ? Scaling::kUnit : Scaling::kMean; }

void train_softmax(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                   int64_t n_cols, const Array<int64_t>& label_indptr, const Array<int32_t>& label_indices,
                   int64_t n_labels, const std::optional<nb::tuple>& tree, int epochs, float learning_rate,
                   bool all_labels, float decay, bool unit, int64_t batch_rows, int64_t batch_entries, uint64_t seed,
                   const Array<float>& row_weights, const Writable<float>& embeddings, const Writable<float>& vectors,
                   Threads n_threads, Progress& progress) {
  const CsrView X = csr_view(indptr, indices, values, n_cols), Y = pattern_view(label_indptr, label_indices, n_labels);
  const int64_t width = embeddings.shape(1);
  const SoftmaxOptions options{width,      epochs,        learning_rate, all_labels,       decay, scaling_of(unit),
                               batch_rows, batch_entries, seed,          view(row_weights)};
  if (X.n_rows() != Y.n_rows() || (row_weights.size() != 0 && std::ssize(options.row_weights) != X.n_rows()))
    throw Error("the rows of features, labels and weights differ in number");
  if (batch_rows < 1 || batch_entries < 1) throw Error("a batch has one row and one entry at least");
  if (width < 8 || width % 8 != 0 || vectors.shape(1) != embeddings.shape(1) ||
      static_cast<int64_t>(embeddings.shape(0)) != n_cols)
    throw Error("the embeddings do not match the features and vectors");
  float *e = embeddings.data(), *v = vectors.data();
  if (!tree) {
    if (static_cast<int64_t>(vectors.shape(0)) != n_labels) throw Error("every label needs a vector");
    return without_gil([&] { train_one_vs_rest(X, Y, options, e, v, n_threads, progress); });
  }
  const TreeArgument arrays(*tree);
  const TreeView shape = arrays.checked(n_labels);
  if (static_cast<int64_t>(vectors.shape(0)) != VectorsOfNodes(shape).first.back() ||
      std::ssize(shape.labels) != n_labels)
    throw Error("the tree does not match the vectors and labels");
  without_gil([&] { train_softmax_tree(X, Y, shape, options, e, v, n_threads, progress); });
}

// (plain,) or (codes, centers, scales)
StoredRows stored_rows(const nb::tuple& arrays) {
  StoredRows rows;
  if (arrays.size() == 1) {
    const auto plain = array_in<Matrix<float>>(arrays, 0);
    rows = {.n = static_cast<int64_t>(plain.shape(0)),
            .width = static_cast<int64_t>(plain.shape(1)),
            .plain = {plain.data(), plain.size()}};
  } else {
    const auto codes = array_in<Matrix<uint8_t>>(arrays, 0);
    const auto centers = array_in<Cube<float>>(arrays, 1);
    const auto scales = array_in<Array<float>>(arrays, 2);
    rows = {.n = static_cast<int64_t>(codes.shape(0)),
            .width = part_in<int64_t>(arrays, 3),
            .part = static_cast<int64_t>(centers.shape(2)),
            .codes = {codes.data(), codes.size()},
            .centers = {centers.data(), centers.size()},
            .scales = view(scales)};
  }
  check_shape(rows);
  return rows;
}

nb::tuple product_codes_of(const Matrix<float>& rows, int64_t part, uint64_t seed, Threads n_threads) {
  const int64_t n = rows.shape(0), width = rows.shape(1);
  if (part < 1 || part > width) throw Error("a part of a row must be between one number and all");
  const int64_t n_parts = (width + part - 1) / part;
  ProductCodes found = without_gil([&] { return product_codes(rows.data(), n, width, part, seed, n_threads); });
  return nb::make_tuple(to_numpy(std::move(found.codes), n, n_parts),
                        to_numpy(std::move(found.centers), n_parts, StoredRows::kCenters, part),
                        to_numpy(std::move(found.scales)));
}

// A model ready to be searched: keeps the arrays alive, which may be mapped from a file.
class SoftmaxTree {
 public:
  SoftmaxTree(const std::optional<nb::tuple>& tree, const nb::tuple& embeddings, const nb::tuple& vectors,
              const std::optional<Array<int32_t>>& kept, bool unit, int64_t n_features, int64_t n_labels)
      : embeddings_(embeddings), vectors_(vectors), kept_(kept), n_features_(n_features), n_labels_(n_labels) {
    model_.embeddings = stored_rows(embeddings);
    if (kept_) model_.kept.emplace(view(*kept_), n_features);
    if (model_.embeddings.n != (kept_ ? static_cast<int64_t>(kept_->size()) : n_features))
      throw Error("the model's features and their embeddings differ in number");
    model_.scaling = scaling_of(unit);
    model_.vectors = stored_rows(vectors);
    int64_t n_vectors = n_labels;
    if (tree) {
      tree_.emplace(*tree);
      model_.tree = tree_->checked(n_labels);
      first_vectors_ = VectorsOfNodes(model_.tree).first;
      model_.first_vectors = first_vectors_;
      model_.with_copies = std::ssize(model_.tree.labels) > n_labels;
      n_vectors = first_vectors_.back();
    }
    if (model_.vectors.n != n_vectors || model_.vectors.width != model_.embeddings.width)
      throw Error("the vectors do not match the tree and the embeddings");
  }

  nb::tuple topk(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                 int64_t n_cols, int64_t k, int64_t beam, bool best_first, float min_score,
                 const Array<uint8_t>& allowed, Threads n_threads) const {
    const CsrView X = rows(indptr, indices, values, n_cols);
    if (k < 1) throw Error("k must be at least 1");
    const SoftmaxSearchOptions options{k, beam, best_first, min_score, allowed_view(allowed, n_labels_)};
    int64_t opened = 0;
    nb::tuple answers = to_numpy(without_gil([&] { return search(model_, X, options, n_threads, opened); }));
    return nb::make_tuple(answers[0], answers[1], opened);
  }

  // A few rows from a vectorizer, on the calling thread; None if they have other features.
  nb::object few_rows(const Csr& rows, int64_t k, int64_t beam) const {
    if (rows.n_cols != n_features_ || k < 1) return nb::none();
    const CsrView X{{rows.indptr.data(), rows.indptr.size()},
                    {rows.indices.data(), rows.indices.size()},
                    {rows.values.data(), rows.values.size()},
                    rows.n_cols};
    int64_t opened = 0;
    return to_numpy(without_gil([&] { return search(model_, X, {.k = k, .beam = beam, .allowed = {}}, 1, opened); }));
  }

  NewMatrix<float> embed(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                         int64_t n_cols, Threads n_threads) const {
    const CsrView X = rows(indptr, indices, values, n_cols);
    return to_numpy(without_gil([&] { return labelwood::embed(model_, X, n_threads); }), X.n_rows(),
                    model_.embeddings.width);
  }

 private:
  CsrView rows(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
               int64_t n_cols) const {
    if (n_cols != n_features_) throw Error("the rows have other features than the model");
    return csr_view(indptr, indices, values, n_cols);
  }

  const nb::tuple embeddings_, vectors_;
  const std::optional<Array<int32_t>> kept_;
  std::optional<TreeArgument> tree_;
  std::vector<int32_t> first_vectors_;
  int64_t n_features_, n_labels_;
  SoftmaxModel model_;
};

}  // namespace

void bind_softmax_trees(nb::module_& m) {
  m.def("train_softmax", train_softmax,
        "Learns embeddings of features and vectors of nodes, or without a tree of labels, in place.");
  m.def("product_codes", product_codes_of, "Codes, centers and scales of the rows of a matrix.");
  nb::class_<SoftmaxTree>(m, "SoftmaxTree")
      .def(nb::init<const std::optional<nb::tuple>&, const nb::tuple&, const nb::tuple&,
                    const std::optional<Array<int32_t>>&, bool, int64_t, int64_t>())
      .def("embed", &SoftmaxTree::embed, "The mean embedding of each row's features.")
      .def("few_rows", &SoftmaxTree::few_rows, "Ids and scores for `Rows`, or None if they have other features.")
      .def("topk", &SoftmaxTree::topk, "Ids, scores, and how many nodes were opened.");
}

}  // namespace labelwood
