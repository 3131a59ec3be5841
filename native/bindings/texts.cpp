#include "texts.h"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <string>

namespace labelwood {
namespace {

constexpr uint32_t kCapitalSigma = 0x3A3;

// A method of str, found once.
nb::handle method_of_str(const char* name) {
  return nb::object(nb::handle(reinterpret_cast<PyObject*>(&PyUnicode_Type)).attr(name)).release();
}

bool is_ascii(nb::handle text) {
  static const nb::handle method = method_of_str("isascii");
  return method(text).is(nb::handle(Py_True));
}

bool has_capital_sigma(nb::handle text) {
  return PyUnicode_FindChar(text.ptr(), kCapitalSigma, 0, PyUnicode_GetLength(text.ptr()), 1) >= 0;
}

// What the running Python says of each code point, so that tokens are those of its `re` and `str.lower`. Python may let
// other threads run while it answers, so two may ask at the same time; what the second hears is forgotten.
const UnicodeTable& python_unicode() {
  static const UnicodeTable* known = nullptr;
  if (known != nullptr) return *known;
  const nb::object said = nb::module_::import_("labelwood.text.characters").attr("code_points")();
  const auto lower = nb::cast<Array<uint32_t>>(said.attr("lower"));
  const auto word = nb::cast<Array<bool>>(said.attr("word")), space = nb::cast<Array<bool>>(said.attr("space"));
  for (const size_t size : {lower.size(), word.size(), space.size()})
    if (size != UnicodeTable::kEnd) throw Error("Python's code points are not all told");
  auto table = std::make_unique<const UnicodeTable>(
      [&](uint32_t point) { return CharInfo{lower.data()[point], word.data()[point], space.data()[point]}; });
  if (known == nullptr) known = table.release();
  return *known;
}

}  // namespace

void TextsArgument::read(const Fields& from) {
  if (PyList_Check(from.object().ptr()))
    read_list(from.object());
  else
    read_arrays(from);
}

bool TextsArgument::read_plain(nb::handle list, bool lower_sigma) {
  if (!PyList_CheckExact(list.ptr())) return false;
  const Py_ssize_t n = PyList_Size(list.ptr());
  texts_.reserve(n);
  kept_.reserve(n);
  for (Py_ssize_t row = 0; row < n; ++row) {
    nb::object text = nb::borrow(PyList_GetItem(list.ptr(), row));
    if (!text.is_valid()) throw nb::python_error();
    if (!PyUnicode_CheckExact(text.ptr())) return false;
    if (is_ascii(text)) {
      add_ascii(text);
      kept_.push_back(std::move(text));
      continue;
    }
    if (lower_sigma && has_capital_sigma(text)) text = text.attr("lower")();
    if (!encode(text)) return false;
  }
  return true;
}

void TextsArgument::read_list(nb::handle list) {
  const Py_ssize_t n = PyList_Size(list.ptr());
  texts_.reserve(n);
  for (Py_ssize_t row = 0; row < n; ++row) {
    const nb::handle text = PyList_GetItem(list.ptr(), row);
    if (!text.is_valid()) throw nb::python_error();
    if (!PyUnicode_Check(text.ptr())) throw Error("text " + std::to_string(row) + " is not a str");
    if (is_ascii(text))
      add_ascii(text);
    else if (!encode(text))
      throw Error("text " + std::to_string(row) +
                  " holds half of a surrogate pair, which is no character: "
                  "remove it with text.encode('utf-8', 'ignore').decode()");
  }
}

// ASCII is UTF-8 already, so Python hands out the string's own memory.
void TextsArgument::add_ascii(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  texts_.emplace_back(reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size));
}

// The bytes live as long as this object, not as long as the string, as Python's own cache would. Returns whether all of
// the text are characters.
bool TextsArgument::encode(nb::handle text) {
  nb::object bytes = nb::steal(PyUnicode_AsUTF8String(text.ptr()));
  if (!bytes.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
    PyErr_Clear();
    return false;
  }
  const auto& encoded = static_cast<const nb::bytes&>(bytes);
  texts_.emplace_back(reinterpret_cast<const uint8_t*>(encoded.c_str()), encoded.size());
  kept_.push_back(std::move(bytes));
  return true;
}

void TextsArgument::read_arrays(const Fields& from) {
  from.read("offsets"_f, offsets_);
  from.read("data"_f, data_);
  const auto at = view(offsets_);
  const auto all = view(data_);
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    if (at[i] < 0 || at[i] > at[i + 1] || at[i + 1] > static_cast<int64_t>(all.size()))
      throw Error("texts have offsets that do not match their bytes");
    texts_.push_back(all.subspan(at[i], at[i + 1] - at[i]));
  }
}

void AnalysisArgument::read(const Fields& from) {
  from.read("stop_words"_f, stop_words);
  if (stop_words) {
    check_contents(stop_words->value());
    stop_index = std::make_unique<TermIndex>(stop_words->value());
  }
  from.read("unit"_f, value.unit);
  from.read_converted("min_n"_f, value.min_n);
  from.read_converted("max_n"_f, value.max_n);
  from.read_converted("min_token"_f, value.min_token);
  from.read("lowercase"_f, value.lowercase);
  value.unicode = &python_unicode();
  value.stop_words = stop_index.get();
}

void WeighingArgument::read(const Fields& from) {
  from.read("binary"_f, value.binary);
  from.read("sublinear_tf"_f, value.sublinear_tf);
  from.read("norm"_f, value.norm);
  from.read("idf"_f, idf);
  value.idf = idf ? view(*idf) : std::span<const double>{};
}

}  // namespace labelwood
