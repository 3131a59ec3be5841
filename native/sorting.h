// Sorts small records by a number. The processor cannot predict the result of a comparison, so no branch depends on
// one: few records are ranked against each other, and many are sorted by the digits of their numbers.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace labelwood {
namespace sorting {

constexpr size_t kFew = 64;
constexpr uint32_t kDigit = 8;

template <class T, class Key>
void rank(std::span<T> records, T* sorted, Key key) {
  std::array<int32_t, kFew> keys;
  for (size_t i = 0; i < records.size(); ++i) keys[i] = static_cast<int32_t>(key(records[i]));
  for (size_t i = 0; i < records.size(); ++i) {
    int32_t place = 0;
    for (size_t j = 0; j < i; ++j) place += keys[j] <= keys[i];
    for (size_t j = i + 1; j < records.size(); ++j) place += keys[j] < keys[i];
    sorted[place] = records[i];
  }
  std::copy_n(sorted, records.size(), records.begin());
}

template <class T, class Key>
void by_digits(std::span<T> records, T* spare, Key key) {
  uint32_t all = 0;
  for (const T& record : records) all |= static_cast<uint32_t>(key(record));
  std::span<T> from = records, to(spare, records.size());
  for (uint32_t shift = 0; shift < 32 && all >> shift != 0; shift += kDigit) {
    std::array<uint32_t, 1 << kDigit> places{};
    const auto digit = [&](const T& record) {
      return static_cast<uint32_t>(key(record)) >> shift & ((1u << kDigit) - 1);
    };
    for (const T& record : from) ++places[digit(record)];
    for (uint32_t place = 0; uint32_t& size : places) place += std::exchange(size, place);
    for (const T& record : from) to[places[digit(record)]++] = record;
    std::swap(from, to);
  }
  if (from.data() != records.data()) std::copy(from.begin(), from.end(), records.begin());
}

}  // namespace sorting

// Ascending by key(record), a number from 0 to 2^31 − 1; equal ones stay in their order. `spare` is memory that is kept
// for the next time.
template <class T, class Key>
void sort_by(std::span<T> records, std::vector<T>& spare, Key key) {
  if (spare.size() < records.size()) spare.resize(records.size());
  if (records.size() <= sorting::kFew) {
    sorting::rank(records, spare.data(), key);
  } else {
    sorting::by_digits(records, spare.data(), key);
  }
}

}  // namespace labelwood
