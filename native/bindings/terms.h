// Terms, as Python has them: their bytes one after the other, and where each begins.
#pragma once
#include <cstdint>

#include "arrays.h"
#include "structures.h"
#include "vocabulary.h"

namespace labelwood {

// The arrays may be mapped from a file.
struct TermsArgument {
  static constexpr auto kPython = nb::detail::const_name("Terms");

  Array<uint8_t> bytes;
  Array<int64_t> offsets;

  void read(const Fields& from) {
    from.read("bytes"_f, bytes);
    from.read("offsets"_f, offsets);
  }
  Vocabulary value() const { return {view(bytes), view(offsets)}; }
};

}  // namespace labelwood
