// Texts and how they are taken apart, as Python has them.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "analyzer.h"
#include "arrays.h"
#include "structures.h"
#include "term_index.h"
#include "terms.h"
#include "vectorizer.h"

template <>
struct nanobind::detail::type_caster<labelwood::Unit>
    : nanobind::detail::literal_caster<labelwood::Unit, "word", "char", "char_wb"> {};
template <>
struct nanobind::detail::type_caster<labelwood::Norm>
    : nanobind::detail::literal_caster<labelwood::Norm, "none", "l1", "l2"> {};

namespace labelwood {

// Texts: a list of str, or the offsets and data of an Arrow array. Both are read in place, save that strings outside
// ASCII are encoded first. Nobody else may change the list.
class TextsArgument {
 public:
  static constexpr auto kPython = nb::detail::const_name("list[str] | ArrowTexts");

  void read(const Fields& from);
  Texts value() const { return texts_; }

  // Anyone's list, if it holds nothing but plain strings; else none of it is read. Strings with a capital sigma come
  // out in lower case if wanted: which small one it becomes depends on its neighbours, and Python knows the rule.
  bool read_plain(nb::handle list, bool lower_sigma);

 private:
  void read_list(nb::handle list);
  void read_arrays(const Fields& from);
  void add_ascii(nb::handle text);
  bool encode(nb::handle text);

  std::vector<nb::object> kept_;
  Array<int64_t> offsets_;
  Array<uint8_t> data_;
  std::vector<Text> texts_;
};

struct AnalysisArgument {
  static constexpr auto kPython = nb::detail::const_name("Analysis");

  std::optional<TermsArgument> stop_words;
  std::unique_ptr<const TermIndex> stop_index;
  Analysis value;

  void read(const Fields& from);
};

struct WeighingArgument {
  static constexpr auto kPython = nb::detail::const_name("Weighing");

  std::optional<Array<double>> idf;
  Weighing value;

  void read(const Fields& from);
  void check(int64_t n_cols) const {
    if (idf && static_cast<int64_t>(idf->size()) != n_cols) throw Error("idf has a different size than the vocabulary");
  }
};

}  // namespace labelwood
