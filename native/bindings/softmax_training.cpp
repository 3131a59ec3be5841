// Training of softmax trees, as Python sees it.
#include "softmax_training.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "bind.h"
#include "label_tree.h"
#include "product_codes.h"
#include "rows.h"
#include "scaling.h"
#include "stored_rows.h"

template <>
struct nanobind::detail::type_caster<labelwood::Targets>
    : nanobind::detail::literal_caster<labelwood::Targets, "all", "drawn"> {};

namespace labelwood {
namespace {

using namespace nb::literals;

void check(const SoftmaxTraining& how, const CsrView& X, const CsrView& Y) {
  if (X.n_rows() != Y.n_rows() || (!how.row_weights.empty() && std::ssize(how.row_weights) != X.n_rows()))
    throw Error("the rows of features, labels and weights differ in number");
  if (how.batch_rows < 1 || how.batch_entries < 1) throw Error("a batch has one row and one entry at least");
  if (how.width < 8 || how.width % 8 != 0) throw Error("the embeddings' numbers are not a multiple of eight");
}

void train_softmax(const SparseArgument& rows, const PatternArgument& labels, const std::optional<TreeArgument>& tree,
                   SoftmaxOptions options, const Array<float>& row_weights, const WritableMatrix<float>& embeddings,
                   const WritableMatrix<float>& vectors, Threads n_threads, Progress& progress) {
  const CsrView X = rows.finite(), Y = labels.checked();
  const SoftmaxTraining how{options, static_cast<int64_t>(embeddings.shape(1)), view(row_weights)};
  check(how, X, Y);
  if (vectors.shape(1) != embeddings.shape(1) || static_cast<int64_t>(embeddings.shape(0)) != X.n_cols)
    throw Error("the embeddings do not match the features and vectors");
  const auto n_vectors = static_cast<int64_t>(vectors.shape(0));
  float *e = embeddings.data(), *v = vectors.data();
  if (!tree) {
    if (n_vectors != Y.n_cols) throw Error("every label needs a vector");
    return without_gil([&] { train_one_vs_rest(X, Y, how, e, v, n_threads, progress); });
  }
  const TreeView shape = tree->checked(Y.n_cols);
  if (n_vectors != VectorsOfNodes(shape).first.back() || std::ssize(shape.labels) != Y.n_cols)
    throw Error("the tree does not match the vectors and labels");
  without_gil([&] { train_softmax_tree(X, Y, shape, how, e, v, n_threads, progress); });
}

auto product_codes_of(const Matrix<float>& rows, int64_t part, uint64_t seed, Threads n_threads) {
  const int64_t n = rows.shape(0), width = rows.shape(1);
  if (part < 1 || part > width) throw Error("a part of a row must be between one number and all");
  const int64_t n_parts = (width + part - 1) / part;
  ProductCodes found = without_gil([&] { return product_codes(rows.data(), n, width, part, seed, n_threads); });
  return std::make_tuple(to_numpy(std::move(found.codes), n, n_parts),
                         to_numpy(std::move(found.centers), n_parts, StoredRows::kCenters, part),
                         to_numpy(std::move(found.scales)));
}

}  // namespace

void bind_softmax_training(nb::module_& m) {
  nb::class_<SoftmaxOptions>(m, "SoftmaxOptions", "How a softmax tree is trained.")
      .def(nb::init<>())
      .def_rw("epochs", &SoftmaxOptions::epochs)
      .def_rw("learning_rate", &SoftmaxOptions::learning_rate)
      .def_rw("targets", &SoftmaxOptions::targets)
      .def_rw("decay", &SoftmaxOptions::decay)
      .def_rw("scaling", &SoftmaxOptions::scaling)
      .def_rw("batch_rows", &SoftmaxOptions::batch_rows)
      .def_rw("batch_entries", &SoftmaxOptions::batch_entries)
      .def_rw("seed", &SoftmaxOptions::seed);
  m.def("train_softmax", train_softmax, nb::kw_only(), "rows"_a, "labels"_a, "tree"_a.none(), "options"_a,
        "row_weights"_a, "embeddings"_a.noconvert(), "vectors"_a.noconvert(), "n_threads"_a, "progress"_a,
        "Learns embeddings of features and vectors of nodes, or without a tree of labels, in place.");
  m.def("product_codes", product_codes_of, "rows"_a, "part"_a, "seed"_a, "n_threads"_a,
        "Codes, centers and scales of the rows of a matrix.");
}

}  // namespace labelwood
