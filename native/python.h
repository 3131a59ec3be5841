// Arrays between Python and native code, for the files that bind the one to the other.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "answers.h"
#include "buffer.h"
#include "centroid.h"
#include "compressed.h"
#include "error.h"
#include "sparse.h"
#include "tree.h"

namespace labelwood {

namespace nb = nanobind;

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

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<3>> to_numpy(Buffer<T>&& buffer, size_t a, size_t b, size_t c) {
  T* memory = buffer.release();
  return nb::ndarray<nb::numpy, T, nb::ndim<3>>(memory, {a, b, c}, owner_of(memory));
}

// How many threads a call may use: always one, and not many times more than there are cores to run them.
struct Threads {
  int n = 1;
  static int most() {
    static const int most = std::max(64, 4 * static_cast<int>(std::thread::hardware_concurrency()));  // slow to ask for
    return most;
  }
  operator int() const { return n; }
};

// An array in a tuple as it is. One that was converted would live nowhere but here, and its view would outlive it.
template <class T>
T array_in(const nb::tuple& arrays, size_t i) {
  T array;
  if (i >= arrays.size() || !nb::try_cast(nb::object(arrays[i]), array, false))
    throw Error("array " + std::to_string(i) + " of a tuple is missing, of another type or not in one piece");
  return array;
}

// Another part of a tuple.
template <class T>
T part_in(const nb::tuple& parts, size_t i) {
  T part;
  if (i >= parts.size() || !nb::try_cast(nb::object(parts[i]), part))
    throw Error("part " + std::to_string(i) + " of a tuple is missing or of another type");
  return part;
}

// One of the first `n` values of an enumeration.
template <class E>
E one_of(int value, int n) {
  if (value < 0 || value >= n) throw Error("an option has a value that it cannot have");
  return static_cast<E>(value);
}

// Arrays of a label tree, kept alive next to the view of them.
struct TreeArgument {
  Array<int32_t> child_ptr;
  Array<int64_t> label_ptr;
  Array<int32_t> labels;

  explicit TreeArgument(const nb::tuple& t)
      : child_ptr(array_in<Array<int32_t>>(t, 0)), label_ptr(array_in<Array<int64_t>>(t, 1)),
        labels(array_in<Array<int32_t>>(t, 2)) {}
  TreeView value() const { return {view(child_ptr), view(label_ptr), view(labels)}; }
  // The same, once it is known to be sound.
  TreeView checked(int64_t n_labels) const {
    check_tree(value(), n_labels);
    return value();
  }
};

inline nb::tuple to_numpy(Csr&& m) {
  return nb::make_tuple(to_numpy(std::move(m.indptr)), to_numpy(std::move(m.indices)), to_numpy(std::move(m.values)));
}

template <class Call>
auto without_gil(Call call) {
  nb::gil_scoped_release release;
  return call();
}

// Where the entries of a CSR matrix from Python are. Rows must lie inside the arrays; native code relies on it.
inline CsrView pattern_view(const Array<int64_t>& indptr, const Array<int32_t>& indices, int64_t n_cols) {
  CsrView m{view(indptr), view(indices), {}, n_cols};
  try {
    check_pointers(m.indptr, std::ssize(m.indices), m.n_rows());
    check_places(m.indices, n_cols);
  } catch (const Error& e) {
    throw Error(std::string("a sparse matrix has unsound arrays: ") + e.what());
  }
  return m;
}

// The same with values, of which some may be infinite.
inline CsrView any_csr_view(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                            int64_t n_cols) {
  if (values.size() != indices.size())
    throw Error("a sparse matrix has a different number of values and column indices");
  CsrView m = pattern_view(indptr, indices, n_cols);
  m.values = view(values);
  return m;
}

// The same with values that have an order: sorting relies on it.
inline CsrView csr_view(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                        int64_t n_cols) {
  const CsrView m = any_csr_view(indptr, indices, values, n_cols);
  if (!all_finite(m.values)) throw Error("a sparse matrix has a value that is not finite");
  return m;
}

// A matrix of a model, checked when it was loaded; checking it again at each call would cost more than the call.
inline CsrView trusted_csr_view(const Array<int64_t>& indptr, const Array<int32_t>& indices, const Array<float>& values,
                                int64_t n_cols) {
  if (indptr.size() == 0 || values.size() != indices.size() || view(indptr).back() != std::ssize(view(indices)))
    throw Error("the arrays of a sparse matrix differ in size");
  return {view(indptr), view(indices), view(values), n_cols};
}

inline DenseView dense_view(const Matrix<float>& m) {
  return {m.data(), static_cast<int64_t>(m.shape(0)), static_cast<int64_t>(m.shape(1))};
}

inline nb::tuple to_numpy(Answers&& a) {
  const size_t k = a.k, n_rows = a.ids.size() / k;
  return nb::make_tuple(to_numpy(std::move(a.ids), n_rows, k), to_numpy(std::move(a.scores), n_rows, k));
}

// Which labels may be answers: a byte for each; none at all means all of them.
inline std::span<const uint8_t> allowed_view(const Array<uint8_t>& allowed, int64_t n_labels) {
  if (allowed.size() != 0 && static_cast<int64_t>(allowed.size()) != n_labels)
    throw Error("the choice of labels has another number of labels");
  return view(allowed);
}

template <class T>
NewArray<T> to_numpy(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  return NewArray<T>(kept->data(), {kept->size()},
                     nb::capsule(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); }));
}

}  // namespace labelwood

namespace nanobind::detail {

template <>
struct type_caster<labelwood::Threads> {
  NB_TYPE_CASTER(labelwood::Threads, const_name("int"))

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int> number;
    if (!number.from_python(source, flags, cleanup)) return false;
    value = {std::clamp(number.value, 1, labelwood::Threads::most())};
    return true;
  }
};

}  // namespace nanobind::detail
