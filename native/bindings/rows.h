// Rows and answers between Python and native code: what functions of several nouns take and return.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "answers.h"
#include "arrays.h"
#include "centroid.h"
#include "compressed.h"
#include "error.h"
#include "sparse.h"
#include "structures.h"

namespace labelwood {

using SparseArrays = std::tuple<NewArray<int64_t>, NewArray<int32_t>, NewArray<float>>;
using AnswerArrays = std::tuple<NewMatrix<int32_t>, NewMatrix<float>>;

// Where the entries of a sparse matrix are.
struct PatternArgument {
  static constexpr auto kPython = nb::detail::const_name("Pattern | Sparse");

  Array<int64_t> indptr;
  Array<int32_t> indices;
  int64_t n_cols = 0;

  void read(const Fields& from) {
    from.read_converted("indptr"_f, indptr);
    from.read_converted("indices"_f, indices);
    from.read_converted("n_cols"_f, n_cols);
  }

  // Rows must lie inside the arrays; native code relies on it.
  CsrView checked() const {
    const CsrView m{view(indptr), view(indices), {}, n_cols};
    try {
      check_pointers(m.indptr, std::ssize(m.indices), m.n_rows());
      check_places(m.indices, n_cols);
    } catch (const Error& e) {
      throw Error(std::string("a sparse matrix has unsound arrays: ") + e.what());
    }
    return m;
  }
};

struct SparseArgument {
  static constexpr auto kPython = nb::detail::const_name("Sparse");

  PatternArgument pattern;
  Array<float> values;

  void read(const Fields& from) {
    pattern.read(from);
    from.read_converted("values"_f, values);
  }

  // With values that may be infinite.
  CsrView checked() const {
    if (values.size() != pattern.indices.size())
      throw Error("a sparse matrix has a different number of values and column indices");
    CsrView m = pattern.checked();
    m.values = view(values);
    return m;
  }

  // With values that have an order: sorting relies on it.
  CsrView finite() const {
    const CsrView m = checked();
    if (!all_finite(m.values)) throw Error("a sparse matrix has a value that is not finite");
    return m;
  }

  // A matrix of a model, checked when it was loaded; checking it again at each call would cost more than the call.
  CsrView trusted() const {
    const auto indptr = view(pattern.indptr);
    if (indptr.empty() || values.size() != pattern.indices.size() || indptr.back() != std::ssize(view(values)))
      throw Error("the arrays of a sparse matrix differ in size");
    return {indptr, view(pattern.indices), view(values), pattern.n_cols};
  }
};

// What can be an answer.
struct LimitsArgument {
  static constexpr auto kPython = nb::detail::const_name("Limits");

  Array<uint8_t> allowed;  // a byte for each label; none at all means all of them
  float min_score = 0;

  void read(const Fields& from) {
    from.read("allowed"_f, allowed);
    from.read_converted("min_score"_f, min_score);
  }

  std::span<const uint8_t> labels(int64_t n_labels) const {
    if (allowed.size() != 0 && static_cast<int64_t>(allowed.size()) != n_labels)
      throw Error("the choice of labels has another number of labels");
    return view(allowed);
  }
};

inline DenseView dense_view(const Matrix<float>& m) {
  return {m.data(), static_cast<int64_t>(m.shape(0)), static_cast<int64_t>(m.shape(1))};
}

inline CsrView view_of(const Csr& m) {
  return {{m.indptr.data(), m.indptr.size()},
          {m.indices.data(), m.indices.size()},
          {m.values.data(), m.values.size()},
          m.n_cols};
}

inline SparseArrays to_numpy(Csr&& m) { return arrays_of(m.indptr, m.indices, m.values); }

inline AnswerArrays to_numpy(Answers&& a) {
  const size_t k = a.k, n_rows = a.ids.size() / k;
  return {to_numpy(std::move(a.ids), n_rows, k), to_numpy(std::move(a.scores), n_rows, k)};
}

}  // namespace labelwood
