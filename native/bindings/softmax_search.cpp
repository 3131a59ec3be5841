// Softmax trees that are searched, as Python sees them.
#include "softmax_search.h"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind.h"
#include "label_tree.h"
#include "rows.h"
#include "scaling.h"
#include "softmax_training.h"

namespace labelwood {
namespace {

using namespace nb::literals;

// Rows of a model: plain, or else codes, centers, scales and the width of a row. The arrays may be mapped.
struct StoredRowsArgument {
  static constexpr auto kPython = nb::detail::const_name("StoredRows");

  void read(const Fields& from) {
    from.read("codes"_f, codes_);
    if (!codes_) return from.read("plain"_f, plain_);
    from.read("centers"_f, centers_);
    from.read("scales"_f, scales_);
    from.read("width"_f, width_);
  }

  StoredRows checked() const {
    StoredRows rows;
    if (!codes_) {
      rows.n = static_cast<int64_t>(plain_.shape(0));
      rows.width = static_cast<int64_t>(plain_.shape(1));
      rows.plain = view(plain_);
    } else {
      rows.n = static_cast<int64_t>(codes_->shape(0));
      rows.width = width_;
      rows.part = static_cast<int64_t>(centers_.shape(2));
      rows.codes = view(*codes_);
      rows.centers = view(centers_);
      rows.scales = view(scales_);
    }
    check_shape(rows);
    return rows;
  }

 private:
  Matrix<float> plain_;
  std::optional<Matrix<uint8_t>> codes_;
  Cube<float> centers_;
  Array<float> scales_;
  int64_t width_ = 0;
};

// A model ready to be searched: keeps the arrays alive, which may be mapped from a file.
class SoftmaxTree {
 public:
  SoftmaxTree(const std::optional<TreeArgument>& tree, const StoredRowsArgument& embeddings,
              const StoredRowsArgument& vectors, const std::optional<Array<int32_t>>& kept, Scaling scaling,
              int64_t n_features, int64_t n_labels)
      : tree_(tree), embeddings_(embeddings), vectors_(vectors), kept_(kept), n_features_(n_features),
        n_labels_(n_labels) {
    model_.embeddings = embeddings_.checked();
    if (kept_) model_.kept.emplace(view(*kept_), n_features);
    if (model_.embeddings.n != (kept_ ? static_cast<int64_t>(kept_->size()) : n_features))
      throw Error("the model's features and their embeddings differ in number");
    model_.scaling = scaling;
    model_.vectors = vectors_.checked();
    int64_t n_vectors = n_labels;
    if (tree_) {
      model_.tree = tree_->checked(n_labels);
      first_vectors_ = VectorsOfNodes(model_.tree).first;
      model_.first_vectors = first_vectors_;
      model_.with_copies = std::ssize(model_.tree.labels) > n_labels;
      n_vectors = first_vectors_.back();
    }
    if (model_.vectors.n != n_vectors || model_.vectors.width != model_.embeddings.width)
      throw Error("the vectors do not match the tree and the embeddings");
  }

  auto topk(const SparseArgument& rows, int64_t k, std::optional<int64_t> beam, const LimitsArgument& limits,
            bool best_first, Threads n_threads) const {
    const CsrView X = checked(rows);
    if (k < 1) throw Error("k must be at least 1");
    const SoftmaxRequest request{k, beam, limits.min_score, limits.labels(n_labels_), best_first};
    int64_t opened = 0;
    auto [ids, scores] = to_numpy(without_gil([&] { return search(model_, X, request, n_threads, opened); }));
    return std::make_tuple(std::move(ids), std::move(scores), opened);
  }

  // A few rows from a vectorizer, on the calling thread; none if they have other features.
  std::optional<AnswerArrays> few_rows(const Csr& rows, int64_t k, std::optional<int64_t> beam) const {
    if (rows.n_cols != n_features_ || k < 1) return std::nullopt;
    int64_t opened = 0;
    const SoftmaxRequest request{.k = k, .beam = beam};
    return to_numpy(without_gil([&] { return search(model_, view_of(rows), request, 1, opened); }));
  }

  NewMatrix<float> embed(const SparseArgument& rows, Threads n_threads) const {
    const CsrView X = checked(rows);
    return to_numpy(without_gil([&] { return labelwood::embed(model_, X, n_threads); }), X.n_rows(),
                    model_.embeddings.width);
  }

 private:
  CsrView checked(const SparseArgument& rows) const {
    if (rows.pattern.n_cols != n_features_) throw Error("the rows have other features than the model");
    return rows.finite();
  }

  const std::optional<TreeArgument> tree_;
  const StoredRowsArgument embeddings_, vectors_;
  const std::optional<Array<int32_t>> kept_;
  std::vector<int32_t> first_vectors_;
  int64_t n_features_, n_labels_;
  SoftmaxModel model_;
};

}  // namespace

void bind_softmax_search(nb::module_& m) {
  nb::class_<SoftmaxTree>(m, "SoftmaxTree", "A softmax tree, or a sigmoid for every label, ready to be searched.")
      .def(nb::init<const std::optional<TreeArgument>&, const StoredRowsArgument&, const StoredRowsArgument&,
                    const std::optional<Array<int32_t>>&, Scaling, int64_t, int64_t>(),
           nb::kw_only(), "tree"_a, "embeddings"_a, "vectors"_a, "kept"_a.none(), "scaling"_a, "n_features"_a,
           "n_labels"_a)
      .def("embed", &SoftmaxTree::embed, "rows"_a, "n_threads"_a, "The mean embedding of each row's features.")
      .def("few_rows", &SoftmaxTree::few_rows, "rows"_a, "k"_a, "beam"_a.none(),
           "Ids and scores for `Rows`, or None if they have other features.")
      .def("topk", &SoftmaxTree::topk, "rows"_a, "k"_a, "beam"_a.none(), nb::kw_only(), "limits"_a, "best_first"_a,
           "n_threads"_a, "Ids, scores, and how many nodes were opened.");
}

}  // namespace labelwood
