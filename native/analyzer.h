// Takes a text apart into the terms that are counted: words, characters, or characters within words, and n-grams.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "buffer.h"
#include "term_index.h"
#include "unicode.h"

namespace labelwood {

enum class Unit { word, chars, chars_in_words };

struct Analysis {
  const UnicodeTable* unicode;
  Unit unit;
  int min_n, max_n;  // lengths of n-grams
  int min_token;     // the fewest characters of a word
  bool lowercase;
  const TermIndex* stop_words;  // words to leave out; null for none
};

// Works on one text at a time and keeps its memory for the next; every thread has its own.
class Analyzer {
 public:
  Analyzer() = default;
  explicit Analyzer(const Analysis& analysis) : analysis_(analysis) {}
  void use(const Analysis& analysis) { analysis_ = analysis; }

  struct Term {
    uint32_t begin, size;
  };

  // The terms of a text, repeated as often as they occur. They and their bytes live until the next call. Sixteen bytes
  // more can be read behind each term, so that terms can be read by eights.
  std::span<const Term> terms(std::span<const uint8_t> text);
  const uint8_t* bytes() const { return bytes_; }
  const uint8_t* bytes(Term term) const { return bytes_ + term.begin; }
  size_t room() const { return scratch_.size(); }  // bytes set aside for texts

 private:
  void make_room_for(std::span<const uint8_t> text);
  uint32_t place() const { return static_cast<uint32_t>(out_ - scratch_.data()); }

  // Words: first the places where they begin and end, then those that count, then their n-grams.
  void find_words(std::span<const uint8_t> text);
  size_t add_ascii(const uint8_t* at, const uint8_t* end);
  const uint8_t* add_wide(const uint8_t* at, const uint8_t* end);
  void cross_edge(bool into_word);
  std::span<const Term> words_that_count();
  bool is_long_enough(Term word) const;
  void add_word_ngrams(std::span<const Term> words);

  void split_chars(std::span<const uint8_t> text);
  void split_chars_in_words(std::span<const uint8_t> text);
  void put_char(uint32_t point);
  void put_lowered(uint32_t point);
  void put_spaces(uint32_t last, int64_t count);
  void close_padded_word();
  void add_char_ngrams(size_t n);

  Analysis analysis_{};
  Buffer<uint8_t> scratch_;         // the text in lower case
  uint8_t* out_ = nullptr;          // where the next byte goes in scratch_
  const uint8_t* bytes_ = nullptr;  // where the terms are
  Buffer<uint32_t> edges_;          // where words begin and where they end in scratch_, in turns
  uint32_t* edge_ = nullptr;        // where the next edge goes
  bool in_word_ = false;            // whether the last byte is a part of a word
  bool has_wide_ = false;           // whether the text is more than ASCII
  Buffer<Term> words_;
  Buffer<uint8_t> joined_;        // words with one space between them, so that an n-gram is a slice
  std::vector<uint32_t> starts_;  // of words in joined_ or of characters in scratch_
  std::vector<Term> terms_;
};

}  // namespace labelwood
