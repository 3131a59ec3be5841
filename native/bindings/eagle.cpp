// Labels of groups, as Python sees them.
#include "eagle.h"

#include <cstdint>
#include <utility>

#include "bind.h"
#include "rows.h"

namespace labelwood {
namespace {

using namespace nb::literals;

// Labels × groups with weights, and groups × rows.
struct GroupedArgument {
  static constexpr auto kPython = nb::detail::const_name("GroupedLabels");

  SparseArgument labels;
  PatternArgument groups;

  void read(const Fields& from) {
    from.read("labels"_f, labels);
    from.read("groups"_f, groups);
  }

  GroupedLabels checked(int64_t rows_of_features) const {
    const GroupedLabels grouped{labels.finite(), groups.checked()};
    if (grouped.groups.n_rows() != grouped.labels.n_cols || grouped.groups.n_cols != rows_of_features)
      throw Error("the groups do not match the rows and labels");
    for (int32_t group : grouped.labels.indices)
      if (grouped.groups.row(group).empty()) throw Error("a group that has labels has no rows");
    return grouped;
  }
};

auto to_python(LabelVectors&& found) { return arrays_of(found.weights, found.cosines); }

auto sparse_eagle(const SparseArgument& rows, const GroupedArgument& grouped, EagleOptions options, Threads n_threads) {
  const CsrView X = rows.finite();
  const GroupedLabels labels = grouped.checked(X.n_rows());
  return to_python(without_gil([&] { return eagle(X, labels, options, n_threads); }));
}

auto dense_eagle(const Matrix<float>& rows, const GroupedArgument& grouped, EagleOptions options, Threads n_threads) {
  const DenseView X = dense_view(rows);
  const GroupedLabels labels = grouped.checked(X.n_rows);
  return to_python(without_gil([&] { return eagle(X, labels, options, n_threads); }));
}

void check_vectors(int64_t n_vectors, int64_t n_cols, const GroupedLabels& labels, int64_t n_features) {
  if (n_vectors != labels.labels.n_rows() || n_cols != n_features)
    throw Error("the vectors do not match the labels and features");
}

NewArray<float> sparse_slot_products(const SparseArgument& rows, const SparseArgument& vectors,
                                     const GroupedArgument& grouped, Threads n_threads) {
  const CsrView X = rows.finite(), V = vectors.finite();
  const GroupedLabels labels = grouped.checked(X.n_rows());
  check_vectors(V.n_rows(), V.n_cols, labels, X.n_cols);
  return to_numpy(without_gil([&] { return slot_products(X, V, labels, n_threads); }));
}

NewArray<float> dense_slot_products(const Matrix<float>& rows, const Matrix<float>& vectors,
                                    const GroupedArgument& grouped, Threads n_threads) {
  const DenseView X = dense_view(rows), V = dense_view(vectors);
  const GroupedLabels labels = grouped.checked(X.n_rows);
  check_vectors(V.n_rows, V.n_cols, labels, X.n_cols);
  return to_numpy(without_gil([&] { return slot_products(X, V, labels, n_threads); }));
}

}  // namespace

void bind_eagle(nb::module_& m) {
  nb::class_<EagleOptions>(m, "EagleOptions", "How vectors of labels of groups are learned.")
      .def(nb::init<>())
      .def_rw("iterations", &EagleOptions::iterations)
      .def_rw("step", &EagleOptions::step)
      .def_rw("leave_out", &EagleOptions::leave_out)
      .def_rw("seed", &EagleOptions::seed);
  m.def("sparse_eagle", sparse_eagle, "rows"_a, "grouped"_a, "options"_a, "n_threads"_a,
        "Of the rows of each label's groups: their weights in the label's vector, and cosines with it.");
  m.def("dense_eagle", dense_eagle, "rows"_a, "grouped"_a, "options"_a, "n_threads"_a, "The same for dense rows.");
  m.def("sparse_slot_products", sparse_slot_products, "rows"_a, "vectors"_a, "grouped"_a, "n_threads"_a,
        "Inner products of the rows of each label's groups with the label's vector.");
  m.def("dense_slot_products", dense_slot_products, "rows"_a, "vectors"_a, "grouped"_a, "n_threads"_a,
        "The same for dense rows.");
}

}  // namespace labelwood
