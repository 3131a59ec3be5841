// Training of a tree's classifiers, as Python sees it.
#include "training.h"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "bind.h"
#include "label_tree.h"
#include "rows.h"

template <>
struct nanobind::detail::type_caster<labelwood::Loss>
    : nanobind::detail::literal_caster<labelwood::Loss, "squared-hinge", "logistic"> {};

namespace labelwood {
namespace {

using namespace nb::literals;

void check_data(const TrainingData& data) {
  const int64_t n_rows = data.X.n_rows(), n_features = data.X.n_cols;
  if (data.members.n_cols != n_rows) throw Error("the labels' members do not match the rows");
  if (!data.row_weights.empty() && std::ssize(data.row_weights) != n_rows)
    throw Error("there is not one weight for each row");
  if (!data.feature_numbers.empty() && std::ssize(data.feature_numbers) != n_features)
    throw Error("there is not one number for each feature");
}

void check_nodes(const TrainedNodes& wanted, const TrainingData& data) {
  for (int32_t node : wanted.nodes)
    if (node < 0 || node >= data.tree.n_nodes()) throw Error("the tree has no such node");
  if (wanted.sent.indptr.empty()) return;
  if (wanted.sent.n_rows() != std::ssize(wanted.nodes)) throw Error("there are not rows for each trained node");
  if (wanted.sent.n_cols != data.X.n_rows()) throw Error("the rows sent to nodes are not those of the features");
}

Named train_tree(const SparseArgument& rows, const PatternArgument& members, const TreeArgument& tree,
                 TrainingOptions options, const Array<int32_t>& feature_numbers, const Array<float>& row_weights,
                 const Array<int32_t>& nodes, bool rows_with_labels, const std::optional<PatternArgument>& sent,
                 Threads n_threads, Progress& progress) {
  const CsrView of_labels = members.checked();
  const TrainingData data{rows.finite(), of_labels, tree.checked(of_labels.n_rows()), view(feature_numbers),
                          view(row_weights)};
  const TrainedNodes wanted{view(nodes), rows_with_labels, sent ? sent->checked() : CsrView{}};
  check_data(data);
  check_nodes(wanted, data);
  if (options.max_weights && *options.max_weights < 1) throw Error("max_weights must be at least 1");
  Blocks blocks = without_gil([&] { return train(data, options, wanted, n_threads, progress); });
  nb::dict arrays;
  each_array(blocks, [&](auto name, auto& part) { arrays[name.characters()] = to_numpy(std::move(part)); });
  return nb::borrow<Named>(arrays);
}

}  // namespace

void bind_tree_training(nb::module_& m) {
  nb::class_<Progress>(m, "Progress", "How far a training is; may be read while it runs.")
      .def(nb::init<>())
      .def_prop_ro("done", [](const Progress& p) { return p.done.load(); })
      .def_prop_ro("total", [](const Progress& p) { return p.total.load(); });
  nb::class_<TrainingOptions>(m, "TrainingOptions", "How the classifiers of a tree are trained.")
      .def(nb::init<>())
      .def_rw("loss", &TrainingOptions::loss)
      .def_rw("cost", &TrainingOptions::cost)
      .def_rw("positive_weight", &TrainingOptions::positive_weight)
      .def_rw("bias", &TrainingOptions::bias)
      .def_rw("tolerance", &TrainingOptions::tolerance)
      .def_rw("max_passes", &TrainingOptions::max_passes)
      .def_rw("threshold", &TrainingOptions::threshold)
      .def_rw("max_weights", &TrainingOptions::max_weights, nb::for_setter(nb::arg("value").none()))
      .def_rw("precision", &TrainingOptions::precision)
      .def_rw("seed", &TrainingOptions::seed);
  m.def("train_tree", train_tree, nb::kw_only(), "rows"_a, "members"_a, "tree"_a, "options"_a, "feature_numbers"_a,
        "row_weights"_a, "nodes"_a, "rows_with_labels"_a, "sent"_a, "n_threads"_a, "progress"_a,
        "The classifiers of some nodes of a tree: the arrays of blocks.h by name.");
}

}  // namespace labelwood
