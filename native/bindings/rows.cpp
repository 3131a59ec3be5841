// Rows of features and their checks, as Python sees them.
#include "rows.h"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "bind.h"

namespace labelwood {
namespace {

using namespace nb::literals;

template <class T>
NewArray<T> copied(const Buffer<T>& buffer) {
  Buffer<T> copy(buffer.size());
  std::copy(buffer.begin(), buffer.end(), copy.begin());
  return to_numpy(std::move(copy));
}

// Values of rows brought to unit length; none if all are that long already but for the tolerance.
std::optional<NewArray<float>> unit_values(const Array<int64_t>& indptr, const Array<float>& values, double tolerance) {
  const CsrView X{view(indptr), {}, view(values), 0};
  check_pointers(X.indptr, std::ssize(X.values), X.n_rows());
  Buffer<float> out = without_gil([&] {
    Buffer<double> squares(X.n_rows());
    bool all = true;
    for (int64_t row = 0; row < X.n_rows(); ++row) {
      squares[row] = squared_length(X.row_values(row));
      all = all && (squares[row] == 0 || std::abs(squares[row] - 1) <= tolerance);
    }
    if (all) return Buffer<float>();
    Buffer<float> scaled(X.values.size());
    for (int64_t row = 0; row < X.n_rows(); ++row) {
      const double scale = unit_scale(squares[row]);
      for (int64_t i = X.indptr[row]; i < X.indptr[row + 1]; ++i) scaled[i] = static_cast<float>(X.values[i] * scale);
    }
    return scaled;
  });
  if (out.size() == 0) return std::nullopt;
  return to_numpy(std::move(out));
}

template <class I>
bool check_compressed(const Array<I>& indptr, const Array<I>& indices, int64_t n_values, int64_t n_runs,
                      int64_t n_places) {
  return without_gil([&] { return places_ascend(view(indptr), view(indices), n_values, n_runs, n_places); });
}

// The same for the arrays of a csr matrix as scipy mostly has them; none where they need more care, as infinite values
// do.
std::optional<bool> rows_ascend(nb::handle indptr, nb::handle indices, nb::handle values, int64_t n_rows,
                                int64_t n_cols, bool finite) {
  const auto checked = [&]<class I>(I) -> std::optional<bool> {
    Array<float> numbers;
    Array<I> ends, columns;
    if (!nb::try_cast(values, numbers, false) || !nb::try_cast(indptr, ends, false) ||
        !nb::try_cast(indices, columns, false))
      return {};
    const auto n_values = static_cast<int64_t>(numbers.size());
    const bool ascend = places_ascend(view(ends), view(columns), n_values, n_rows, n_cols);
    if (finite && !all_finite(view(numbers))) return {};
    return ascend;
  };
  if (n_cols > std::numeric_limits<int32_t>::max()) return {};
  const auto narrow = checked(int32_t{});
  return narrow ? narrow : checked(int64_t{});
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<Csr>(m, "Rows", "Sound rows of features on their way from a vectorizer to a model.")
      .def(
          "arrays",
          [](const Csr& rows) {
            return std::make_tuple(copied(rows.indptr), copied(rows.indices), copied(rows.values), rows.n_cols);
          },
          "Copies of their arrays, and the number of columns.");
  m.def(
      "check_csr", [](const SparseArgument& matrix) { matrix.finite(); }, "matrix"_a,
      "Raises unless a sparse matrix is sound.");
  m.def(
      "all_finite", [](const Array<float>& values) { return all_finite(view(values)); }, "values"_a,
      "Whether no value is NaN or infinite.");
  m.def("check_compressed", check_compressed<int32_t>, "indptr"_a, "indices"_a, "n_values"_a, "n_runs"_a, "n_places"_a,
        "Raises unless runs of places are sound, with so many places in each. Whether places ascend in each run.");
  m.def("check_compressed", check_compressed<int64_t>, "indptr"_a, "indices"_a, "n_values"_a, "n_runs"_a, "n_places"_a,
        "The same with wide integers.");
  m.def("rows_ascend", rows_ascend, "indptr"_a, "indices"_a, "values"_a, "n_rows"_a, "n_cols"_a, "finite"_a,
        "The same for the arrays of rows with float32 values. None where they have other types, or, if that is asked, "
        "a value is not finite.");
  m.def("unit_values", unit_values, "indptr"_a, "values"_a, "tolerance"_a,
        "The values of sparse rows brought to unit length, or None if they are.");
}

}  // namespace labelwood
