// Where rows of CSV end.
#pragma once

#include <cstddef>
#include <string_view>

namespace labelwood {

// The end of the last row outside of quotes; 0 where none ends. A carriage return at the very end may belong to a line
// feed that follows.
inline size_t last_line_end(std::string_view text, size_t from, size_t to) {
  const auto part = text.substr(from, to - from);
  if (const auto feed = part.rfind('\n'); feed != part.npos) return from + feed + 1;
  const auto last = part.rfind('\r');
  return last == part.npos || from + last + 1 == text.size() ? 0 : from + last + 1;
}

// The end of the last whole row in `text`, which begins with a row; 0 where none ends. A quote counts only at the
// beginning of a field, and two of them within a quoted field are one character.
inline size_t csv_rows_end(std::string_view text, char delimiter) {
  constexpr auto none = std::string_view::npos;
  const auto begins_field = [&](size_t i) {
    return i == 0 || text[i - 1] == delimiter || text[i - 1] == '\n' || text[i - 1] == '\r';
  };
  size_t end = 0, start = 0;  // of the last row; of what follows the last quoted field
  while (true) {
    size_t opening = text.find('"', start);
    while (opening != none && !begins_field(opening)) opening = text.find('"', opening + 1);
    if (const size_t found = last_line_end(text, start, opening == none ? text.size() : opening); found != 0)
      end = found;
    if (opening == none) return end;
    size_t closing = text.find('"', opening + 1);
    while (closing != none && closing + 1 < text.size() && text[closing + 1] == '"')
      closing = text.find('"', closing + 2);
    if (closing == none) return end;
    start = closing + 1;
  }
}

}  // namespace labelwood
