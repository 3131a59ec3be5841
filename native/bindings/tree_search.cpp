// Trees of classifiers that are searched, as Python sees them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind.h"
#include "label_tree.h"
#include "rows.h"
#include "search.h"

template <>
struct nanobind::detail::type_caster<labelwood::Link>
    : nanobind::detail::literal_caster<labelwood::Link, "l3-hinge", "sigmoid"> {};

namespace labelwood {
namespace {

using namespace nb::literals;

// Integers of either width that scipy uses, narrow ones in place.
class Integers {
 public:
  // False if they are no integers, or too large.
  bool read(nb::handle array) {
    if (nb::try_cast(array, narrow_, false)) {
      value_ = view(narrow_);
      return true;
    }
    Array<int64_t> wide;
    if (!nb::try_cast(array, wide, false)) return false;
    copied_.reserve(wide.size());
    for (int64_t n : view(wide))
      if (std::in_range<int32_t>(n)) copied_.push_back(static_cast<int32_t>(n));
    value_ = copied_;
    return copied_.size() == wide.size();
  }
  std::span<const int32_t> value() const { return value_; }

 private:
  Array<int32_t> narrow_;
  std::vector<int32_t> copied_;
  std::span<const int32_t> value_;
};

// A tree with its classifiers, ready to be searched: keeps the arrays alive, which may be mapped from a file.
class TreeModel {
 public:
  TreeModel(const TreeArgument& tree, const BlocksArgument& blocks, const Array<int32_t>& feature_numbers,
            simd::Precision precision, int64_t n_labels, bool mean_of_copies)
      : tree_(tree), blocks_(blocks), feature_numbers_(feature_numbers), n_labels_(n_labels) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const auto n_features = static_cast<int64_t>(feature_numbers.size());
    if (n_features > kMost || n_labels < 0 || n_labels > kMost) throw Error("there are too many features or labels");
    model_.tree = tree_.value();
    model_.with_copies = std::ssize(model_.tree.labels) > n_labels;
    // Whatever else is trusted of a mapped model: limits are looked up by label, and answers name labels.
    for (int32_t label : model_.tree.labels)
      if (label < 0 || label >= n_labels) throw Error("the tree holds a label that is none of the model's");
    if (mean_of_copies && model_.with_copies) model_.means.emplace(tree_.checked(n_labels), n_labels);
    model_.blocks = blocks_.value;
    model_.blocks.n_features = n_features;
    model_.blocks.precision = precision;
    model_.blocks.feature_numbers = view(feature_numbers_);
  }

  // Raises unless every index in the arrays stays within them; search relies on it.
  void check() const {
    check_tree(model_.tree, n_labels_);
    check_blocks(model_.tree, model_.blocks);
  }

  // The weights of a node: numbers of features, siblings and values.
  auto block(int32_t node) const {
    const BlocksView& b = model_.blocks;
    if (node < 0 || node >= model_.tree.n_nodes()) throw Error("the tree has no such node");
    std::vector<int32_t> features, siblings;
    std::vector<float> values;
    for (int32_t s = b.segment_ptr[node]; s < b.segment_ptr[node + 1]; ++s) {
      const int32_t first = (s - b.segment_ptr[node]) * kSegment;
      const int32_t width = std::min(model_.tree.n_siblings(node) - first, kSegment);
      const SegmentEntries found = unpacked(b, s, width, b.sibling_ptr[node] + first);
      features.insert(features.end(), found.features.begin(), found.features.end());
      for (uint8_t column : found.columns) siblings.push_back(first + column);
      values.insert(values.end(), found.values.begin(), found.values.end());
    }
    return arrays_of(features, siblings, values);
  }

  std::tuple<NewMatrix<int32_t>, NewMatrix<float>, SearchCosts> topk(const SparseArgument& rows, int64_t k,
                                                                     SearchOptions options,
                                                                     const LimitsArgument& limits, float slack,
                                                                     bool best_first, Threads n_threads) const {
    const CsrView X = checked(rows, k);
    const SearchRequest request{k, limits.min_score, limits.labels(n_labels_), slack, best_first};
    SearchCosts costs;
    auto [ids, scores] = to_numpy(without_gil([&] { return search(model_, X, options, request, n_threads, costs); }));
    return {std::move(ids), std::move(scores), costs};
  }

  // A few rows from a vectorizer, on the calling thread; none if they have other features.
  std::optional<AnswerArrays> few_rows(const Csr& rows, int64_t k, float slack, SearchOptions options) const {
    if (rows.n_cols != model_.blocks.n_features) return std::nullopt;
    return found(view_of(rows), {.k = k, .slack = slack}, options);
  }

  // A single row as scipy has it, if it can be searched as it is; else none. What Python would do for many rows at once
  // would take longer here than the search.
  std::optional<AnswerArrays> one_row(nb::handle indptr, nb::handle indices, nb::handle values, int64_t n_cols,
                                      int64_t k, float slack, SearchOptions options) const {
    Integers ends, features;
    Array<float> x;
    if (!ends.read(indptr) || !features.read(indices) || !nb::try_cast(values, x, false)) return std::nullopt;
    const int64_t row[2] = {0, std::ssize(features.value())};
    if (n_cols != model_.blocks.n_features || x.size() != features.value().size() || !spans_one_row(ends, row[1]))
      return std::nullopt;
    const CsrView X{row, features.value(), view(x), n_cols};
    int32_t last = -1;
    bool sound = true;
    for (int64_t i = 0; i < row[1]; ++i) {
      sound = sound & (X.indices[i] > last) & std::isfinite(X.values[i]);
      last = X.indices[i];
    }
    if (!sound || last >= n_cols) return std::nullopt;
    return found(X, {.k = k, .slack = slack}, options);
  }

  auto reached(const SparseArgument& rows, SearchOptions options, int32_t first, Threads n_threads) const {
    const CsrView X = checked(rows, 1);
    Reached found = without_gil([&] { return labelwood::reached(model_, X, options, first, n_threads); });
    return arrays_of(found.row_ptr, found.nodes);
  }

  NewArray<float> slacks(const SparseArgument& rows, int64_t k, SearchOptions options, Threads n_threads) const {
    const CsrView X = checked(rows, k);
    return to_numpy(without_gil([&] { return labelwood::slacks(model_, X, options, {.k = k}, n_threads); }));
  }

  NewArray<double> seconds(const SparseArgument& rows, int64_t k, SearchOptions options, bool best_first) const {
    const CsrView X = checked(rows, k);
    const SearchRequest request{.k = k, .best_first = best_first};
    return to_numpy(without_gil([&] { return labelwood::seconds(model_, X, options, request); }));
  }

 private:
  static bool spans_one_row(const Integers& ends, int64_t n_entries) {
    const auto at = ends.value();
    return at.size() == 2 && at[0] == 0 && at[1] == n_entries;
  }

  AnswerArrays found(const CsrView& X, const SearchRequest& request, SearchOptions options) const {
    SearchCosts costs;
    return to_numpy(without_gil([&] { return search(model_, X, options, request, 1, costs); }));
  }

  CsrView checked(const SparseArgument& rows, int64_t k) const {
    if (k < 1 || rows.pattern.n_cols != model_.blocks.n_features)
      throw Error("the rows have other features than the tree");
    return rows.finite();
  }

  const TreeArgument tree_;
  const BlocksArgument blocks_;
  const Array<int32_t> feature_numbers_;
  int64_t n_labels_;
  SearchTree model_;
};

}  // namespace

void bind_tree_search(nb::module_& m) {
  nb::class_<SearchOptions>(m, "SearchOptions", "How a tree is searched.")
      .def(nb::init<>())
      .def_rw("beam", &SearchOptions::beam, nb::for_setter(nb::arg("value").none()))
      .def_rw("link", &SearchOptions::link)
      .def_rw("path_weight", &SearchOptions::path_weight)
      .def_rw("normalize", &SearchOptions::normalize);
  nb::class_<SearchCosts>(m, "SearchCosts", "How much a search looked at, summed over rows.")
      .def_ro("nodes", &SearchCosts::nodes, "opened that have children")
      .def_ro("leaves", &SearchCosts::leaves, "opened")
      .def_ro("children", &SearchCosts::children, "scored")
      .def_ro("labels", &SearchCosts::labels, "scored")
      .def_ro("bytes", &SearchCosts::bytes, "of weights that a row's features met");
  nb::class_<TreeModel>(m, "TreeModel", "A tree with its classifiers, ready to be searched.")
      .def(
          nb::init<const TreeArgument&, const BlocksArgument&, const Array<int32_t>&, simd::Precision, int64_t, bool>(),
          nb::kw_only(), "tree"_a, "blocks"_a, "feature_numbers"_a, "precision"_a, "n_labels"_a, "mean_of_copies"_a)
      .def("check", &TreeModel::check, "Raises unless the arrays are sound.")
      .def("block", &TreeModel::block, "node"_a, "The weights of a node: numbers of features, siblings and values.")
      .def("topk", &TreeModel::topk, "rows"_a, "k"_a, "options"_a, nb::kw_only(), "limits"_a, "slack"_a, "best_first"_a,
           "n_threads"_a, "Ids, scores, and what was looked at.")
      .def("few_rows", &TreeModel::few_rows, "rows"_a, "k"_a, "slack"_a, "options"_a,
           "Ids and scores for `Rows`, or None if they have other features.")
      .def("one_row", &TreeModel::one_row, "indptr"_a, "indices"_a, "values"_a, "n_cols"_a, "k"_a, "slack"_a,
           "options"_a, "Ids and scores for a single row of scipy's, or None if it needs more care.")
      .def("reached", &TreeModel::reached, "rows"_a, "options"_a, nb::kw_only(), "first"_a, "n_threads"_a,
           "Nodes that the beam of each row reaches: leaves, and those from one on.")
      .def("seconds", &TreeModel::seconds, "rows"_a, "k"_a, "options"_a, nb::kw_only(), "best_first"_a,
           "Seconds that each row's search takes.")
      .def("slacks", &TreeModel::slacks, "rows"_a, "k"_a, "options"_a, nb::kw_only(), "n_threads"_a,
           "For each row the largest slack that leaves its answers as they are.");
}

}  // namespace labelwood
