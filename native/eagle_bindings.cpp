// Labels of groups as Python sees them.
#include "eagle_bindings.h"

#include "eagle.h"
#include "python.h"

namespace labelwood {
namespace {

// Arrays kept alive next to the view of them: (labels × groups with weights, groups × rows).
struct GroupedArgument {
  Array<int64_t> label_indptr, group_indptr;
  Array<int32_t> label_indices, group_indices;
  Array<float> weights;
  int64_t n_groups, n_rows;

  explicit GroupedArgument(const nb::tuple& t)
      : label_indptr(array_in<Array<int64_t>>(t, 0)), group_indptr(array_in<Array<int64_t>>(t, 4)),
        label_indices(array_in<Array<int32_t>>(t, 1)), group_indices(array_in<Array<int32_t>>(t, 5)),
        weights(array_in<Array<float>>(t, 2)), n_groups(part_in<int64_t>(t, 3)), n_rows(part_in<int64_t>(t, 6)) {}

  GroupedLabels value(int64_t rows_of_features) const {
    const GroupedLabels grouped{csr_view(label_indptr, label_indices, weights, n_groups),
                                pattern_view(group_indptr, group_indices, n_rows)};
    if (grouped.groups.n_rows() != n_groups || n_rows != rows_of_features)
      throw Error("the groups do not match the rows and labels");
    for (size_t i = 0; i < weights.size(); ++i)
      if (grouped.groups.row(grouped.labels.indices[i]).empty()) throw Error("a group that has labels has no rows");
    return grouped;
  }
};

nb::tuple to_numpy(LabelVectors&& found) {
  return nb::make_tuple(to_numpy(std::move(found.weights)), to_numpy(std::move(found.cosines)));
}

nb::tuple sparse_eagle(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                       int64_t n_cols, const nb::tuple& grouped, int iterations, double step, bool leave_out,
                       uint64_t seed, Threads n_threads) {
  const CsrView X = csr_view(indptr, indices, values, n_cols);
  const GroupedArgument arrays(grouped);
  const GroupedLabels labels = arrays.value(X.n_rows());
  return to_numpy(without_gil([&] { return eagle(X, labels, {iterations, step, leave_out, seed}, n_threads); }));
}

nb::tuple dense_eagle(const Matrix<float>& rows, const nb::tuple& grouped, int iterations, double step, bool leave_out,
                      uint64_t seed, Threads n_threads) {
  const DenseView X = dense_view(rows);
  const GroupedArgument arrays(grouped);
  const GroupedLabels labels = arrays.value(X.n_rows);
  return to_numpy(without_gil([&] { return eagle(X, labels, {iterations, step, leave_out, seed}, n_threads); }));
}

void check_vectors(int64_t n_vectors, int64_t n_cols, const GroupedLabels& labels, int64_t n_features) {
  if (n_vectors != labels.labels.n_rows() || n_cols != n_features)
    throw Error("the vectors do not match the labels and features");
}

NewArray<float> sparse_slot_products(const Array<int64_t>& indptr, const Array<int32_t>& indices,
                                     const Array<float>& values, int64_t n_cols, const Array<int64_t>& vector_indptr,
                                     const Array<int32_t>& vector_indices, const Array<float>& vector_values,
                                     int64_t n_vector_cols, const nb::tuple& grouped, Threads n_threads) {
  const CsrView X = csr_view(indptr, indices, values, n_cols);
  const CsrView vectors = csr_view(vector_indptr, vector_indices, vector_values, n_vector_cols);
  const GroupedArgument arrays(grouped);
  const GroupedLabels labels = arrays.value(X.n_rows());
  check_vectors(vectors.n_rows(), vectors.n_cols, labels, X.n_cols);
  return to_numpy(without_gil([&] { return slot_products(X, vectors, labels, n_threads); }));
}

NewArray<float> dense_slot_products(const Matrix<float>& rows, const Matrix<float>& matrix, const nb::tuple& grouped,
                                    Threads n_threads) {
  const DenseView X = dense_view(rows), vectors = dense_view(matrix);
  const GroupedArgument arrays(grouped);
  const GroupedLabels labels = arrays.value(X.n_rows);
  check_vectors(vectors.n_rows, vectors.n_cols, labels, X.n_cols);
  return to_numpy(without_gil([&] { return slot_products(X, vectors, labels, n_threads); }));
}

}  // namespace

void bind_eagle(nb::module_& m) {
  m.def("sparse_eagle", sparse_eagle,
        "Of the rows of each label's groups: their weights in the label's vector, and cosines with it.");
  m.def("dense_eagle", dense_eagle, "The same for dense rows.");
  m.def("sparse_slot_products", sparse_slot_products,
        "Inner products of the rows of each label's groups with the label's vector.");
  m.def("dense_slot_products", dense_slot_products, "The same for dense rows.");
}

}  // namespace labelwood
