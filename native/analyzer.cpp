#include "analyzer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ascii.h"
#include "error.h"

namespace labelwood {
namespace {

constexpr size_t kLargestText = size_t{1} << 30;
constexpr size_t kReadableBehind = 16;
constexpr int kAsciiStretch = 8;  // so many ASCII characters in a row are worth a block

// The one character whose lower case is two: i and a combining dot above.
constexpr uint32_t kDottedI = 0x130, kDotAbove = 0x307;

uint64_t low_bits(size_t n) { return n < 64 ? (uint64_t{1} << n) - 1 : ~uint64_t{0}; }

}  // namespace

std::span<const Analyzer::Term> Analyzer::terms(std::span<const uint8_t> text) {
  make_room_for(text);
  if (analysis_.unit == Unit::word) {
    find_words(text);
    const std::span<const Term> words = words_that_count();
    if (analysis_.max_n == 1) return words;
    add_word_ngrams(words);
  } else if (analysis_.unit == Unit::chars) {
    split_chars(text);
  } else {
    split_chars_in_words(text);
  }
  return terms_;
}

void Analyzer::make_room_for(std::span<const uint8_t> text) {
  if (text.size() > kLargestText) throw Error("a text is larger than one gibibyte: split it into several");
  // Lower case takes at most half as much again, and each word at most two spaces; blocks are written whole.
  make_room(scratch_, 3 * text.size() + AsciiBlock::kSize + kReadableBehind);
  out_ = scratch_.data();
  bytes_ = scratch_.data();
  starts_.clear();
  terms_.clear();
}

void Analyzer::find_words(std::span<const uint8_t> text) {
  make_room(edges_, text.size() + 2);
  edge_ = edges_.data();
  in_word_ = false;
  has_wide_ = false;
  const uint8_t* at = text.data();
  const uint8_t* const end = at + text.size();
  while (at < end) {
    at += add_ascii(at, end);
    if (at < end && *at >= 0x80) at = add_wide(at, end);
  }
  cross_edge(false);
}

// Takes up to a block of bytes, as far as they are ASCII, and returns how many. Its letters, digits and underscore are
// parts of words in any table.
size_t Analyzer::add_ascii(const uint8_t* at, const uint8_t* end) {
  size_t n = AsciiBlock::kSize;
  uint8_t last[AsciiBlock::kSize];
  if (static_cast<size_t>(end - at) < n) {
    n = end - at;
    std::memset(last, 0, sizeof last);
    at = static_cast<const uint8_t*>(std::memcpy(last, at, n));
  }
  const AsciiBlock block = copy_ascii(at, out_, analysis_.lowercase);
  if (block.wide != 0) n = std::min<size_t>(n, std::countr_zero(block.wide));
  if (n == 0) return 0;
  // A byte is at an edge where it is in a word and the one before is not, or the reverse.
  uint64_t edges = (block.word ^ (block.word << 1 | in_word_)) & low_bits(n);
  const uint32_t begin = place();
  uint32_t* next = edge_;
  for (; edges != 0; edges &= edges - 1) *next++ = begin + std::countr_zero(edges);
  edge_ = next;
  in_word_ = block.word >> (n - 1) & 1;
  out_ += n;
  return n;
}

// Takes one character after another until there are only ASCII ones for a while.
const uint8_t* Analyzer::add_wide(const uint8_t* at, const uint8_t* end) {
  has_wide_ = true;
  for (int ascii_left = kAsciiStretch; at < end && ascii_left > 0;) {
    ascii_left = *at >= 0x80 ? kAsciiStretch : ascii_left - 1;
    const uint32_t read = read_utf8(at, end);
    const bool dotted_i = read == kDottedI && analysis_.lowercase;
    const uint32_t point = dotted_i ? 'i' : analysis_.lowercase ? (*analysis_.unicode)[read].lower : read;
    const bool in_word = (*analysis_.unicode)[point].word;
    cross_edge(in_word);
    if (in_word) out_ = write_utf8(point, out_);
    // A combining mark is no part of a word, also the one that the dotted I brings along.
    if (dotted_i) cross_edge(false);
  }
  return at;
}

void Analyzer::cross_edge(bool into_word) {
  if (into_word != in_word_) *edge_++ = place();
  in_word_ = into_word;
}

std::span<const Analyzer::Term> Analyzer::words_that_count() {
  const size_t n_words = (edge_ - edges_.data()) / 2;
  make_room(words_, n_words);
  Term* const words = words_.data();
  const TermIndex* const stop_words = analysis_.stop_words;
  const auto least = static_cast<uint32_t>(analysis_.min_token);
  const bool size_tells = !has_wide_ || least <= 1;
  size_t n = 0;
  for (size_t i = 0; i < n_words; ++i) {
    const Term word{edges_[2 * i], edges_[2 * i + 1] - edges_[2 * i]};
    words[n] = word;
    n += size_tells ? word.size >= least : is_long_enough(word);
  }
  if (stop_words != nullptr) {
    const auto is_stop_word = [&](Term word) {
      return stop_words->find(TermKey::of(as_view(bytes(word), word.size)), bytes(word), word.size) >= 0;
    };
    n = std::remove_if(words, words + n, is_stop_word) - words;
  }
  return {words, n};
}

bool Analyzer::is_long_enough(Term word) const {
  const auto begins_character = [](uint8_t byte) { return (byte & 0xC0) != 0x80; };
  return std::count_if(bytes(word), bytes(word) + word.size, begins_character) >= analysis_.min_token;
}

void Analyzer::add_word_ngrams(std::span<const Term> words) {
  make_room(joined_, place() + words.size() + kReadableBehind);
  uint8_t* out = joined_.data();
  for (const Term word : words) {
    starts_.push_back(static_cast<uint32_t>(out - joined_.data()));
    out = std::copy_n(bytes(word), word.size, out);
    *out++ = ' ';
  }
  bytes_ = joined_.data();
  const size_t longest = std::min<size_t>(analysis_.max_n, words.size());
  for (size_t n = analysis_.min_n; n <= longest; ++n)
    for (size_t last = n - 1; last < words.size(); ++last) {
      const uint32_t begin = starts_[last - (n - 1)];
      terms_.push_back({begin, starts_[last] + words[last].size - begin});
    }
}

void Analyzer::split_chars(std::span<const uint8_t> text) {
  const uint8_t* at = text.data();
  const uint8_t* const end = at + text.size();
  int64_t n_spaces = 0;
  uint32_t space = 0;
  while (at < end) {
    const uint32_t point = read_utf8(at, end);
    if ((*analysis_.unicode)[point].space) {
      space = point;
      ++n_spaces;
      continue;
    }
    put_spaces(space, n_spaces);
    n_spaces = 0;
    put_lowered(point);
  }
  put_spaces(space, n_spaces);
  starts_.push_back(place());
  const size_t longest = std::min<size_t>(analysis_.max_n, starts_.size() - 1);
  for (size_t n = analysis_.min_n; n <= longest; ++n) add_char_ngrams(n);
}

void Analyzer::split_chars_in_words(std::span<const uint8_t> text) {
  const uint8_t* at = text.data();
  const uint8_t* const end = at + text.size();
  while (at < end) {
    const uint32_t point = read_utf8(at, end);
    if ((*analysis_.unicode)[point].space) {
      close_padded_word();
      continue;
    }
    if (starts_.empty()) put_char(' ');
    put_lowered(point);
  }
  close_padded_word();
}

void Analyzer::put_char(uint32_t point) {
  starts_.push_back(place());
  out_ = write_utf8(point, out_);
}

void Analyzer::put_lowered(uint32_t point) {
  if (!analysis_.lowercase) return put_char(point);
  if (point != kDottedI) return put_char((*analysis_.unicode)[point].lower);
  put_char('i');
  put_char(kDotAbove);
}

// Several spaces of any kind become one plain space; a single one stays what it is.
void Analyzer::put_spaces(uint32_t last, int64_t count) {
  if (count > 0) put_char(count == 1 ? last : ' ');
}

void Analyzer::close_padded_word() {
  if (starts_.empty()) return;
  put_char(' ');
  const size_t n_chars = starts_.size();
  starts_.push_back(place());
  for (size_t n = analysis_.min_n; n <= static_cast<size_t>(analysis_.max_n); ++n) {
    add_char_ngrams(std::min(n, n_chars));
    if (n >= n_chars) break;  // a short word counts once, not for every longer n
  }
  starts_.clear();
}

// The n-grams of the characters in starts_, whose last entry is the end of the last character.
void Analyzer::add_char_ngrams(size_t n) {
  for (size_t i = 0; i + n < starts_.size(); ++i) terms_.push_back({starts_[i], starts_[i + n] - starts_[i]});
}

}  // namespace labelwood
