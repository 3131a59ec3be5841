// Structures and options of Python, which native code reads by the names of their fields.
//
// A structure is any Python object with the right attributes, such as a named tuple or a dataclass. To take one as an
// argument, a function takes a C++ structure that has:
//   static constexpr auto kPython = nb::detail::const_name("the Python class, for the stub");
//   void read(const Fields& from) { from.read("name"_f, name); … }
//
// Options are an nb::class_ with a property for each field; labelwood.arrays.options fills them by name. Functions take
// them by value: while native code works, another thread may change the object in Python.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "error.h"

namespace labelwood {

namespace nb = nanobind;

template <size_t N>
struct Characters {
  char characters[N];
  consteval Characters(const char (&text)[N]) { std::copy_n(text, N, characters); }
};

// The name of a field: "name"_f. Python's string is made once, as that would take longer than to read the field.
template <Characters text>
struct FieldName {
  static const char* characters() { return text.characters; }
  static PyObject* python() {
    static PyObject* const made = PyUnicode_InternFromString(text.characters);
    return made;
  }
};

template <Characters text>
consteval FieldName<text> operator""_f() {
  return {};
}

class Fields;

template <class T>
concept Structure = requires(T t, const Fields& from) {
  T::kPython;
  { t.read(from) } -> std::same_as<void>;
};

class Fields {
 public:
  explicit Fields(nb::handle object) : object_(object) {}
  nb::handle object() const { return object_; }

  // Fills a field as it is, or as what it can be converted to. An array is kept alive by the field it is read into.
  template <class Name, class T>
  void read(Name name, T& field) const {
    take(name, field, false);
  }
  template <class Name, class T>
  void read_converted(Name name, T& field) const {
    take(name, field, true);
  }

 private:
  template <class Name, class T>
  void take(Name name, T& field, bool convert) const {
    const nb::object value = nb::steal(PyObject_GetAttr(object_.ptr(), name.python()));
    if (!value.is_valid()) {
      PyErr_Clear();
      throw Error(std::string("there is no field ") + name.characters());
    }
    if (!fill(value, field, convert))
      throw Error(std::string("field ") + name.characters() + " is of another type or not in one piece");
  }

  template <class T>
  static bool fill(nb::handle value, T& field, bool convert) {
    return nb::try_cast(value, field, convert);
  }
  template <Structure T>
  static bool fill(nb::handle value, T& field, bool) {
    field.read(Fields(value));
    return true;
  }
  template <Structure T>
  static bool fill(nb::handle value, std::optional<T>& field, bool) {
    if (!value.is_none()) field.emplace().read(Fields(value));
    return true;
  }

  nb::handle object_;
};

}  // namespace labelwood

namespace nanobind::detail {

// Reading throws where a field is missing, so it comes after the choice of an overload, which must not throw.
template <class T>
struct structure_caster {
  using Value = T;
  template <class U>
  using Cast = T;
  template <class U>
  static constexpr bool can_cast() {
    return true;
  }

  bool from_python(handle object, uint32_t, cleanup_list*) noexcept {
    source = object;
    return true;
  }

  handle source;
};

template <labelwood::Structure T>
struct type_caster<T> : structure_caster<T> {
  static constexpr auto Name = T::kPython;
  explicit operator T() {
    T value;
    value.read(labelwood::Fields(this->source));
    return value;
  }
};

template <labelwood::Structure T>
struct type_caster<std::optional<T>> : structure_caster<std::optional<T>> {
  static constexpr auto Name = T::kPython + const_name(" | None");
  explicit operator std::optional<T>() {
    std::optional<T> value;
    if (!this->source.is_none()) value.emplace().read(labelwood::Fields(this->source));
    return value;
  }
};

// Lets functions take and return a value of an enumeration by its name in Python; the names are in its order:
//   template <>
//   struct nanobind::detail::type_caster<E> : nanobind::detail::literal_caster<E, "one", "other"> {};
template <class E, labelwood::Characters... names>
struct literal_caster {
  static constexpr std::array kNames{std::string_view(names.characters)...};
  NB_TYPE_CASTER(E, const_name("typing.Literal[") +
                        concat((const_name("'") + const_name(names.characters) + const_name("'"))...) + const_name("]"))

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), &size) : nullptr;
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    const auto place = std::ranges::find(kNames, std::string_view(text, static_cast<size_t>(size)));
    value = static_cast<E>(place - kNames.begin());
    return place != kNames.end();
  }

  static handle from_cpp(E e, rv_policy, cleanup_list*) noexcept {
    const std::string_view name = kNames[static_cast<size_t>(e)];
    return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
  }
};

}  // namespace nanobind::detail
