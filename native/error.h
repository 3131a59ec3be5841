// The two ways native code refuses its input. bindings/module.cpp turns them into Python exceptions.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace labelwood {

// A sentence for the user: what is wrong and how to mend it.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The same for one line of a text; `line` counts from zero within the text that was handed in.
struct LineError : Error {
  LineError(int64_t at, const std::string& message) : Error(message), line(at) {}
  int64_t line;
};

}  // namespace labelwood
