// Takes a text apart into the terms that are counted: words, characters, or characters within words, and n-grams.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "buffer.h"
#include "unicode.h"
#include "vocabulary.h"

namespace labelwood {

enum class Unit { word, chars, chars_in_words };

struct Analysis {
  const UnicodeTable* unicode;
  Unit unit;
  int min_n, max_n;  // lengths of n-grams
  int min_token;     // the fewest characters of a word
  bool lowercase;
  Vocabulary stop_words;  // words to leave out; may be empty
};

// Works on one text at a time and keeps its memory for the next; every thread has its own.
class Analyzer {
 public:
  explicit Analyzer(const Analysis& analysis);

  struct Term {
    uint32_t begin, size;
  };

  // The terms of a text, repeated as often as they occur. They and their bytes live until the next call.
  std::span<const Term> terms(std::span<const uint8_t> text);
  const uint8_t* bytes(Term term) const { return scratch_.data() + term.begin; }

 private:
  void make_room(size_t text_size);
  uint32_t place() const { return static_cast<uint32_t>(out_ - scratch_.data()); }

  // Words are written to scratch_ with one space between them, so that an n-gram is a slice of it.
  void split_words(std::span<const uint8_t> text);
  const uint8_t* add_ascii(const uint8_t* at, const uint8_t* end);
  const uint8_t* add_wide(const uint8_t* at, const uint8_t* end);
  void close_word();
  bool is_stop_word() const;
  void add_word_ngrams();

  void split_chars(std::span<const uint8_t> text);
  void split_chars_in_words(std::span<const uint8_t> text);
  void put_char(uint32_t point);
  void put_lowered(uint32_t point);
  void put_spaces(uint32_t last, int64_t count);
  void close_padded_word();
  void add_char_ngrams(size_t n);

  Analysis analysis_;
  std::array<uint8_t, 256> ascii_;  // what a byte becomes inside a word; 0: a gap; kWide: a longer character begins
  Buffer<uint8_t> scratch_;
  uint8_t* out_ = nullptr;         // where the next byte goes in scratch_
  uint32_t word_begin_ = 0;        // of the word being read
  int64_t word_chars_ = 0;         // characters of that word so far
  std::vector<uint32_t> starts_;   // of words or characters in scratch_
  std::vector<uint32_t> ends_;     // of words in scratch_
  std::vector<Term> terms_;
};

}  // namespace labelwood
