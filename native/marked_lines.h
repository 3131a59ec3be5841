// Lines of words, some of which are marked by a prefix: fastText's texts with their labels.
#pragma once
#include <cstdint>
#include <string_view>

#include "buffer.h"

namespace labelwood {

// Of each line the words without the prefix, with one space between them, and what follows the prefix of the others.
struct MarkedLines {
  Buffer<uint8_t> texts;
  Buffer<int64_t> text_offsets;
  Buffer<uint8_t> marked;
  Buffer<int64_t> marked_offsets;
  Buffer<int64_t> line_ends;  // of each line, after a zero: how many marked words there are up to its end
};

// A line ends at a line feed; words are separated by any ASCII white space, or NUL.
MarkedLines part_marked_lines(std::string_view text, std::string_view prefix);

}  // namespace labelwood
