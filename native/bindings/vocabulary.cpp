// Terms and other strings in arrays, as Python sees them.
#include "vocabulary.h"

#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "bind.h"
#include "hash.h"
#include "terms.h"

namespace labelwood {
namespace {

using namespace nb::literals;

auto places(const nb::bytes& term) {
  if (term.size() <= 16) throw Error("the term is too short");
  const auto* p = reinterpret_cast<const uint8_t*>(term.c_str());
  const auto first = hashing::load<uint64_t>(p), last = hashing::load<uint64_t>(p + 8);
  return std::make_tuple(hashing::of_ends(first, last), hashing::of_long(p, term.size()),
                         hashing::of_id(static_cast<uint32_t>(first)));
}

auto pick_terms(const TermsArgument& terms, const Array<int64_t>& ids) {
  const Vocabulary all = terms.value();
  check_contents(all);
  for (int64_t id : view(ids))
    if (id < 0 || id >= all.size()) throw Error("there is no such term");
  Terms picked = without_gil([&] { return copy_terms(all, view(ids)); });
  return arrays_of(picked.bytes, picked.offsets);
}

auto number_strings_of(const Array<int64_t>& offsets, const Array<uint8_t>& bytes) {
  const auto ends = view(offsets);
  for (size_t i = 0; i < ends.size(); ++i)
    if (ends[i] < (i == 0 ? 0 : ends[i - 1]) || ends[i] > static_cast<int64_t>(bytes.size()))
      throw Error("strings have offsets that do not match their bytes");
  NumberedStrings out = without_gil([&] { return number_strings({view(bytes), ends}); });
  return arrays_of(out.numbers, out.firsts);
}

bool mentions(const Array<uint8_t>& bytes, std::string_view part) {
  return as_view(bytes.data(), bytes.size()).find(part) != std::string_view::npos;
}

}  // namespace

void bind_vocabulary(nb::module_& m) {
  m.def("places", places, "term"_a,
        "What leads a term of over 16 bytes to its places in tables; other processes have others.");
  m.def("pick_terms", pick_terms, "terms"_a, "ids"_a, "The chosen terms as (bytes, offsets).");
  m.def(
      "check_vocabulary", [](const TermsArgument& terms) { check_contents(terms.value()); }, "terms"_a,
      "Raises unless the arrays are a sound vocabulary.");
  m.def("number_strings", number_strings_of, "offsets"_a, "bytes"_a,
        "A number for each string in order of first occurrence, and where the string of each number occurs first.");
  m.def("mentions", mentions, "bytes"_a, "part"_a, "Whether bytes contain a part.");
}

}  // namespace labelwood
