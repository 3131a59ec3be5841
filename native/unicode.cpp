#include "unicode.h"

#include <map>

namespace labelwood {

UnicodeTable::UnicodeTable(const std::function<CharInfo(uint32_t)>& describe) {
  using Page = std::array<int32_t, 256>;
  std::map<Page, uint16_t> known;
  Page last{};
  for (uint32_t page = 0; page < pages_.size(); ++page) {
    Page entries;
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t point = page * 256 + i;
      const CharInfo info = describe(point);
      const int32_t distance = static_cast<int32_t>(info.lower) - static_cast<int32_t>(point);
      entries[i] = distance * 4 + info.space * 2 + info.word;
    }
    if (page > 0 && entries == last) {  // as most are
      pages_[page] = pages_[page - 1];
      continue;
    }
    last = entries;
    const auto [place, is_new] = known.emplace(entries, static_cast<uint16_t>(known.size()));
    if (is_new) entries_.insert(entries_.end(), entries.begin(), entries.end());
    pages_[page] = place->second;
  }
}

uint32_t read_utf8(const uint8_t*& at, const uint8_t* end) {
  constexpr uint32_t kReplacement = 0xFFFD;
  const uint32_t lead = *at++;
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC0 || lead > 0xF7 || end - at < more) return kReplacement;
  uint32_t point = lead & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) point = point << 6 | (*at++ & 0x3Fu);
  return point < UnicodeTable::kEnd ? point : kReplacement;
}

uint8_t* write_utf8(uint32_t point, uint8_t* out) {
  const auto tail = [point](int shift) { return static_cast<uint8_t>(0x80u | (point >> shift & 0x3Fu)); };
  if (point < 0x80) {
    *out++ = static_cast<uint8_t>(point);
  } else if (point < 0x800) {
    *out++ = static_cast<uint8_t>(0xC0u | point >> 6);
    *out++ = tail(0);
  } else if (point < 0x10000) {
    *out++ = static_cast<uint8_t>(0xE0u | point >> 12);
    *out++ = tail(6);
    *out++ = tail(0);
  } else {
    *out++ = static_cast<uint8_t>(0xF0u | point >> 18);
    *out++ = tail(12);
    *out++ = tail(6);
    *out++ = tail(0);
  }
  return out;
}

}  // namespace labelwood
