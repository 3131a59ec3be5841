#include "analyzer.h"

#include <algorithm>

#include "error.h"

namespace labelwood {
namespace {

constexpr uint8_t kWide = 0x80;
constexpr size_t kLargestText = size_t{1} << 30;

// The one character whose lower case is two: i and a combining dot above.
constexpr uint32_t kDottedI = 0x130, kDotAbove = 0x307;

uint8_t ascii_in_word(const UnicodeTable& unicode, uint32_t byte, bool lowercase) {
  if (byte >= 0x80) return kWide;
  const CharInfo info = unicode[byte];
  if (!info.word) return 0;
  return static_cast<uint8_t>(lowercase ? info.lower : byte);
}

}  // namespace

Analyzer::Analyzer(const Analysis& analysis) : analysis_(analysis) {
  for (uint32_t byte = 0; byte < 256; ++byte) ascii_[byte] = ascii_in_word(*analysis.unicode, byte, analysis.lowercase);
}

std::span<const Analyzer::Term> Analyzer::terms(std::span<const uint8_t> text) {
  make_room(text.size());
  terms_.clear();
  switch (analysis_.unit) {
    case Unit::word: split_words(text); break;
    case Unit::chars: split_chars(text); break;
    case Unit::chars_in_words: split_chars_in_words(text); break;
  }
  return terms_;
}

void Analyzer::make_room(size_t text_size) {
  if (text_size > kLargestText) throw Error("a text is larger than one gibibyte: split it into several");
  // Lower case takes at most half as much again, and each word at most two spaces.
  const size_t needed = 3 * text_size + 16;
  if (scratch_.size() < needed) scratch_ = Buffer<uint8_t>(needed + needed / 4);
  out_ = scratch_.data();
  word_begin_ = 0;
  word_chars_ = 0;
  starts_.clear();
  ends_.clear();
}

void Analyzer::split_words(std::span<const uint8_t> text) {
  const uint8_t* at = text.data();
  const uint8_t* const end = at + text.size();
  while (at < end) {
    at = add_ascii(at, end);
    if (at == end) break;
    if (ascii_[*at] == kWide) {
      at = add_wide(at, end);
    } else {
      if (word_chars_ != 0) close_word();
      ++at;
    }
  }
  if (word_chars_ != 0) close_word();
  add_word_ngrams();
}

// The hot loop. Its state is local: a byte written could otherwise be a part of *this to the compiler.
const uint8_t* Analyzer::add_ascii(const uint8_t* at, const uint8_t* end) {
  const uint8_t* const begin = at;
  uint8_t* out = out_;
  for (uint8_t mapped; at < end && (mapped = ascii_[*at]) - 1u < kWide - 1u; ++at) *out++ = mapped;
  out_ = out;
  word_chars_ += at - begin;
  return at;
}

const uint8_t* Analyzer::add_wide(const uint8_t* at, const uint8_t* end) {
  const uint32_t read = read_utf8(at, end);
  const bool dotted_i = read == kDottedI && analysis_.lowercase;
  const uint32_t point = dotted_i ? 'i' : analysis_.lowercase ? (*analysis_.unicode)[read].lower : read;
  const bool in_word = (*analysis_.unicode)[point].word;
  if (in_word) {
    out_ = write_utf8(point, out_);
    ++word_chars_;
  }
  // A combining mark is no part of a word, also the one that the dotted I brings along.
  if ((!in_word || dotted_i) && word_chars_ != 0) close_word();
  return at;
}

void Analyzer::close_word() {
  if (word_chars_ >= analysis_.min_token && !is_stop_word()) {
    starts_.push_back(word_begin_);
    ends_.push_back(place());
    *out_++ = ' ';
    word_begin_ = place();
  }
  out_ = scratch_.data() + word_begin_;
  word_chars_ = 0;
}

bool Analyzer::is_stop_word() const {
  if (analysis_.stop_words.size() == 0) return false;
  return analysis_.stop_words.find(scratch_.data() + word_begin_, place() - word_begin_) >= 0;
}

void Analyzer::add_word_ngrams() {
  const size_t longest = std::min<size_t>(analysis_.max_n, starts_.size());
  for (size_t n = analysis_.min_n; n <= longest; ++n)
    for (size_t last = n - 1; last < starts_.size(); ++last) {
      const uint32_t begin = starts_[last - (n - 1)];
      terms_.push_back({begin, ends_[last] - begin});
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
