// Arrays between Python and native code.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "buffer.h"

namespace labelwood {

namespace nb = nanobind;

// Arrays from Python, read in place.
template <class T>
using Array = nb::ndarray<nb::numpy, const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<nb::numpy, const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<nb::numpy, const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using WritableMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Arrays for Python, which owns them.
template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NewMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;
template <class T>
using NewCube = nb::ndarray<nb::numpy, T, nb::ndim<3>>;

// Values by name, for the keywords of a Python class.
using Named = nb::typed<nb::dict, nb::str, nb::any>;

template <class Numbers>
auto view(const Numbers& a) {
  return std::span<const typename Numbers::Scalar>(a.data(), a.size());
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
NewCube<T> to_numpy(Buffer<T>&& buffer, size_t a, size_t b, size_t c) {
  T* memory = buffer.release();
  return NewCube<T>(memory, {a, b, c}, owner_of(memory));
}

template <class T>
NewArray<T> to_numpy(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const auto free = [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); };
  return NewArray<T>(kept->data(), {kept->size()}, nb::capsule(kept, free));
}

// Several arrays as a tuple.
template <class... Parts>
auto arrays_of(Parts&&... parts) {
  return std::make_tuple(to_numpy(std::move(parts))...);
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

template <class Call>
auto without_gil(Call call) {
  nb::gil_scoped_release release;
  return call();
}

}  // namespace labelwood

namespace nanobind::detail {

template <>
struct type_caster<labelwood::Threads> {
  NB_TYPE_CASTER(labelwood::Threads, const_name("int"))

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int> number;
    if (!number.from_python(source, flags, cleanup)) return false;
    value = {std::clamp(number.value, 1, labelwood::Threads::most())};
    return true;
  }
};

}  // namespace nanobind::detail
