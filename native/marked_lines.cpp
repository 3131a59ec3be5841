#include "marked_lines.h"

#include <algorithm>
#include <array>
#include <vector>

namespace labelwood {
namespace {

constexpr std::array<bool, 256> kSpace = [] {
  std::array<bool, 256> space{};
  for (const char c : {' ', '\t', '\v', '\f', '\r', '\n', '\0'}) space[static_cast<uint8_t>(c)] = true;
  return space;
}();

// Strings one after the other, in memory that is large enough for all.
struct Strings {
  explicit Strings(size_t most_bytes) : bytes(most_bytes) {}

  void append(std::string_view part) {
    std::copy(part.begin(), part.end(), bytes.data() + size);
    size += static_cast<int64_t>(part.size());
  }
  void end() { offsets.push_back(size); }

  Buffer<uint8_t> bytes;
  std::vector<int64_t> offsets{0};
  int64_t size = 0;
};

template <class T>
Buffer<T> copy_of(const T* values, size_t n) {
  Buffer<T> out(n);
  std::copy_n(values, n, out.data());
  return out;
}

}  // namespace

MarkedLines part_marked_lines(std::string_view text, std::string_view prefix) {
  Strings texts(text.size() + 1), marked(text.size() + 1);
  std::vector<int64_t> line_ends{0};
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const char* const line_end = std::find(at, end, '\n');
    while (at < line_end) {
      if (kSpace[static_cast<uint8_t>(*at)]) {
        ++at;
        continue;
      }
      const char* const word = at;
      while (at < line_end && !kSpace[static_cast<uint8_t>(*at)]) ++at;
      const std::string_view found(word, at - word);
      if (found.starts_with(prefix)) {
        marked.append(found.substr(prefix.size()));
        marked.end();
      } else {
        if (texts.size > texts.offsets.back()) texts.append(" ");
        texts.append(found);
      }
    }
    texts.end();
    line_ends.push_back(std::ssize(marked.offsets) - 1);
    at = line_end + 1;
  }
  return {copy_of(texts.bytes.data(), texts.size), copy_of(texts.offsets.data(), texts.offsets.size()),
          copy_of(marked.bytes.data(), marked.size), copy_of(marked.offsets.data(), marked.offsets.size()),
          copy_of(line_ends.data(), line_ends.size())};
}

}  // namespace labelwood
