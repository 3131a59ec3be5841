#include "vectorizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "error.h"
#include "hash.h"
#include "row_counter.h"
#include "sorting.h"
#include "term_counter.h"
#include "term_index.h"
#include "term_key.h"
#include "unicode.h"

using namespace labelwood;

namespace {

// Latin letters, digits and Greek capitals are enough here; the tests in Python go through all of Unicode.
CharInfo describe(uint32_t c) {
  const bool upper = (c >= 'A' && c <= 'Z') || (c >= 0x391 && c <= 0x3A9);
  const bool lower = (c >= 'a' && c <= 'z') || (c >= 0x3B1 && c <= 0x3C9);
  const bool other = (c >= '0' && c <= '9') || c == '_' || c == 0x130;
  return {upper ? c + 32 : c == 0x130 ? 'i' : c, upper || lower || other, c == ' ' || c == '\n'};
}

const UnicodeTable& unicode() {
  static const UnicodeTable table(describe);
  return table;
}

Analysis analysis(Unit unit, int min_n, int max_n) { return {&unicode(), unit, min_n, max_n, 2, true, {}}; }

Text text(const std::string& s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

std::vector<std::string> terms_of(const std::string& s, const Analysis& how) {
  Analyzer analyzer(how);
  std::vector<std::string> out;
  for (const Analyzer::Term term : analyzer.terms(text(s))) out.emplace_back(as_view(analyzer.bytes(term), term.size));
  return out;
}

using Strings = std::vector<std::string>;

struct Corpus {
  explicit Corpus(Strings all) : strings(std::move(all)) {
    for (const auto& s : strings) texts.push_back(text(s));
  }
  Strings strings;
  std::vector<Text> texts;
};

Corpus numbered_words(int n) {
  Strings strings;
  for (int i = 0; i < n; ++i)
    strings.push_back("word" + std::to_string(i % 97) + " word" + std::to_string(i * i % 1013) + " common common");
  return Corpus(strings);
}

template <class T>
std::string raw(const Buffer<T>& b) {
  return {reinterpret_cast<const char*>(b.data()), b.size() * sizeof(T)};
}

template <class T>
std::span<const T> span_of(const Buffer<T>& b) {
  return {b.data(), b.size()};
}

Vocabulary view_of(const Terms& terms) { return {span_of(terms.bytes), span_of(terms.offsets)}; }

using Random = std::mt19937;

size_t below(Random& random, size_t n) { return random() % n; }

// Words as long as the parts of a key or longer, many of which share their first and last bytes.
std::string random_word(Random& random) {
  const size_t n = 1 + below(random, below(random, 4) == 0 ? 40 : 9);
  std::string word(n, 'a');
  word[below(random, n)] = static_cast<char>('a' + below(random, 26));
  word[below(random, n)] = static_cast<char>('a' + below(random, 3));
  return word;
}

// What the analyzer does with words, one character after another.
Strings words_one_by_one(const std::string& s, size_t min_chars) {
  Strings words;
  std::string word;
  size_t n_chars = 0;
  const auto close = [&] {
    if (n_chars >= min_chars && n_chars > 0) words.push_back(word);
    word.clear();
    n_chars = 0;
  };
  const uint8_t* at = text(s).data();
  for (const uint8_t* const end = at + s.size(); at < end;) {
    const uint32_t point = read_utf8(at, end);
    const CharInfo info = describe(point);
    uint8_t bytes[4];
    if (!info.word) close();
    if (!info.word) continue;
    word.append(bytes, write_utf8(info.lower, bytes));
    ++n_chars;
    if (point == 0x130) close();
  }
  close();
  return words;
}

}  // namespace

TEST(utf8_survives_reading_and_writing) {
  for (uint32_t point = 0; point < UnicodeTable::kEnd; ++point) {
    uint8_t bytes[4];
    const uint8_t* end = write_utf8(point, bytes);
    const uint8_t* at = bytes;
    CHECK(read_utf8(at, end) == point && at == end);
  }
}

TEST(broken_utf8_never_reads_beyond_the_end) {
  for (int lead = 0x80; lead < 0x100; ++lead) {
    const std::vector<uint8_t> bytes{static_cast<uint8_t>(lead)};
    const uint8_t* at = bytes.data();
    CHECK(read_utf8(at, at + 1) == 0xFFFD && at == bytes.data() + 1);
  }
}

TEST(the_table_answers_as_it_was_told) {
  for (uint32_t c = 0; c < UnicodeTable::kEnd; ++c) {
    const CharInfo told = describe(c), kept = unicode()[c];
    CHECK(told.lower == kept.lower && told.word == kept.word && told.space == kept.space);
  }
}

TEST(murmur_gives_the_published_values) {
  const auto hash = [](const std::string& s) { return murmur3_32(text(s).data(), s.size()); };
  CHECK(hash("") == 0);
  CHECK(hash("test") == 0xBA6BD213u);
  CHECK(hash("Hello, world!") == 0xC0363E43u);
  CHECK(hash("The quick brown fox jumps over the lazy dog") == 0x2E4FF723u);
}

// Different words of sixteen letters that a hash without a secret (first · a + last · b, of which the high bits lead to
// a place) sends to one place of a table of 2^18.
Strings crowding_words(size_t n) {
  constexpr uint64_t a = 0xC2B2AE3D27D4EB4Eu, b = 0x9E3779B97F4A7C15u, target = 0x123456789ABCDEF0u;
  constexpr uint64_t window = uint64_t{1} << 46;
  const auto half = [](uint64_t number) {
    std::string letters(8, 'a');
    for (char& c : letters) c = static_cast<char>('a' + number % 26), number /= 26;
    return letters;
  };
  const auto as_number = [](const std::string& s) { return hashing::load<uint64_t>(text(s).data()); };
  std::map<uint64_t, std::string> lasts;
  for (uint64_t i = 0; i < 1 << 17; ++i) lasts[as_number(half(i * 7919)) * b] = half(i * 7919);
  Strings words;
  for (uint64_t i = 0; words.size() < n; ++i) {
    const std::string first = half(i * 104729);
    const uint64_t wanted = target - as_number(first) * a;
    const auto found = lasts.lower_bound(wanted);
    if (found != lasts.end() && found->first - wanted < window) words.push_back(first + found->second);
  }
  return words;
}

TEST(nobody_can_choose_terms_that_crowd_one_place_of_a_table) {
  const Strings words = crowding_words(20000);
  const auto n = static_cast<int64_t>(words.size());
  TermTable table;
  for (const std::string& word : words) table.find(TermKey::of(std::string_view(word)), text(word).data(), word.size());
  CHECK(table.size() == n);
  CHECK(table.detours() < 8 * n);  // of one place: n²/2
  const std::vector<uint32_t> ids = table.sorted_ids();
  const Terms terms = copy_terms(table, std::span(ids));
  CHECK(TermIndex(view_of(terms)).detours() < 8 * n);
}

TEST(nobody_can_choose_columns_that_crowd_one_place_of_a_row) {
  RowCounter counter;
  counter.clear();
  int64_t n = 0;
  for (uint32_t id = 0; n < 20000; ++id)  // those that a known factor sends to the first places
    if ((id * 0x9E3779B97F4A7C15u >> 32 & 0xFFFF) < 1024) counter.add(id), ++n;
  CHECK(counter.detours() < 8 * n);
}

TEST(words_are_lowered_split_and_joined_to_ngrams) {
  const Strings expected{"an", "oak", "elm_2", "an oak", "oak elm_2"};
  CHECK(terms_of("An Oak, a ELM_2!", analysis(Unit::word, 1, 2)) == expected);
  CHECK(terms_of("\u0391\u0392x \u0130x", analysis(Unit::word, 1, 1)) == (Strings{"\u03B1\u03B2x"}));
  CHECK(terms_of("", analysis(Unit::word, 1, 1)).empty());
}

TEST(several_spaces_count_as_one_character_and_one_stays_itself) {
  CHECK(terms_of("a\nB  \nc", analysis(Unit::chars, 1, 1)) == (Strings{"a", "\n", "b", " ", "c"}));
  CHECK(terms_of("\u0130", analysis(Unit::chars, 1, 2)) == (Strings{"i", "\u0307", "i\u0307"}));
  CHECK(terms_of("ab", analysis(Unit::chars, 3, 5)).empty());
}

TEST(a_short_word_counts_once_within_words) {
  const Strings expected{" a ", " bc", "bcd", "cd ", " bcd", "bcd "};
  CHECK(terms_of(" a  bcd", analysis(Unit::chars_in_words, 3, 4)) == expected);
  CHECK(terms_of("a", analysis(Unit::chars_in_words, 4, 9)) == (Strings{" a "}));
}

TEST(rows_are_counted_apart_also_when_the_table_grows) {
  RowCounter counter;
  for (uint32_t row = 1; row < 5; ++row) {
    counter.clear();
    for (uint32_t repeat = 0; repeat < row; ++repeat)
      for (uint32_t id = 0; id < 5000; id += row) counter.add(id * 7919u);
    CHECK(counter.counts().size() == (5000 + row - 1) / row);
    for (const Count entry : counter.sorted()) CHECK(entry.count == row);
  }
}

TEST(terms_come_in_byte_order_with_their_counts) {
  const Corpus corpus({"pine oak oak", "oak", std::string("longterm1 longterm2 longterm")});
  const TermCounts out = count_terms(corpus.texts, analysis(Unit::word, 1, 1), true, 2);
  const Vocabulary v = view_of(out.terms);
  check_contents(v);
  CHECK(v.size() == 5 && v.term(0) == "longterm" && v.term(1) == "longterm1" && v.term(2) == "longterm2");
  CHECK(v.term(3) == "oak" && v.term(4) == "pine");
  CHECK(out.n_texts[3] == 2 && out.occurrences[3] == 3);
  CHECK(out.matrix.indptr[1] == 2 && out.matrix.indices[0] == 3 && out.matrix.counts[0] == 2);
  const TermIndex index(v);
  const auto id_of = [&](std::string_view term) {
    return index.find(TermKey::of(term), text(std::string(term)).data(), term.size());
  };
  CHECK(id_of("oak") == 3 && id_of("elm") == -1);
}

TEST(counts_and_weights_are_the_same_bytes_for_any_number_of_threads) {
  const Corpus corpus = numbered_words(1000);
  const Analysis how = analysis(Unit::word, 1, 2);
  std::string first;
  for (int n_threads : {1, 2, 8}) {
    TermCounts out = count_terms(corpus.texts, how, true, n_threads);
    const Csr m = transform(corpus.texts, how, 64, {false, true, Norm::l2, {}}, n_threads);
    const std::string all = raw(out.terms.bytes) + raw(out.terms.offsets) + raw(out.n_texts) + raw(out.occurrences) +
                            raw(out.matrix.indptr) + raw(out.matrix.indices) + raw(out.matrix.counts) + raw(m.indptr) +
                            raw(m.indices) + raw(m.values);
    if (first.empty()) first = all;
    CHECK(all == first);
  }
}

TEST(a_damaged_vocabulary_is_refused) {
  const std::string bytes = "aabb";
  const std::vector<int64_t> offsets{0, 2, 4};
  const std::span<const uint8_t> b = text(bytes);
  check_contents({b, offsets});
  const std::vector<int64_t> far{0, 9, 4}, twice{0, 4, 4}, none;
  for (const auto& bad : {far, twice, none}) CHECK_THROWS(check_contents({b, bad}), Error);
  CHECK_THROWS(check_contents({text("bbaa"), offsets}), Error);  // out of order
}

TEST(weights_follow_the_norm_and_leave_out_columns) {
  const std::vector<int64_t> indptr{0, 3};
  const std::vector<int32_t> indices{0, 1, 2}, counts{1, 4, 2}, columns{0, -1, 1};
  const std::vector<double> idf{3, 4};
  const Csr m = weigh(indptr, indices, counts, columns, 2, {true, true, Norm::l2, idf}, 1);
  CHECK(m.indices.size() == 2 && m.indices[1] == 1);
  CHECK(std::abs(m.values[0] - 0.6f) < 1e-7f && std::abs(m.values[1] - 0.8f) < 1e-7f);
}

TEST(words_are_the_same_wherever_blocks_begin) {
  const Strings parts{"a",      "B",      "7",      "_",          " ",    ", ",         "\u0391",
                      "\u03B2", "\u0130", "\u00D7", "\U0001F600", "Word", "longerwords"};
  Random random(1);
  for (int turn = 0; turn < 3000; ++turn) {
    std::string s;
    const size_t n_parts = turn % 3 == 0 ? 6 : parts.size();  // a third of them are ASCII
    for (size_t n = below(random, 120); n > 0; --n) s += parts[below(random, n_parts)];
    for (int min_token : {1, 2, 3}) {
      Analysis how = analysis(Unit::word, 1, 1);
      how.min_token = min_token;
      CHECK(terms_of(s, how) == words_one_by_one(s, min_token));
    }
  }
}

TEST(bytes_that_are_no_characters_are_gaps) {
  CHECK(terms_of("ab\xFF"
                 "cd\xCE",
                 analysis(Unit::word, 1, 1)) == (Strings{"ab", "cd"}));
  CHECK(terms_of("ab\xE2\x82", analysis(Unit::word, 1, 1)) == (Strings{"ab"}));
}

TEST(case_stays_where_it_is_to_stay) {
  Analysis how = analysis(Unit::word, 1, 1);
  how.lowercase = false;
  CHECK(terms_of("An \u0391\u0130 OAK", how) == (Strings{"An", "\u0391\u0130", "OAK"}));
}

TEST(keys_tell_terms_of_one_length_apart_up_to_sixteen_bytes) {
  Random random(2);
  std::map<std::pair<uint64_t, uint64_t>, std::string> terms[TermKey::kWhole + 1];
  for (int turn = 0; turn < 20000; ++turn) {
    const std::string word = random_word(random) + "................";
    for (size_t n = 1; n <= TermKey::kWhole && word[n - 1] != '.'; ++n) {
      const TermKey key = TermKey::of(text(word).data(), n);
      CHECK(key == TermKey::of(std::string_view(word).substr(0, n)));
      const auto [known, is_new] = terms[n].emplace(std::pair(key.first, key.hash), word.substr(0, n));
      CHECK(is_new || known->second == word.substr(0, n));
    }
  }
}

TEST(terms_are_counted_in_order_of_first_occurrence) {
  Random random(3);
  TermCounter counter;
  for (size_t n_terms : {size_t{0}, size_t{1}, size_t{2}, size_t{15}, size_t{700}, TermCounter::kMost}) {
    std::string bytes;
    std::vector<Analyzer::Term> terms;
    Strings order;
    std::map<std::string, uint32_t> counts;
    for (size_t i = 0; i < n_terms; ++i) {
      const std::string word = random_word(random);
      terms.push_back({static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(word.size())});
      bytes += word;
      if (counts[word]++ == 0) order.push_back(word);
    }
    bytes += std::string(16, '.');
    Strings found;
    for (const uint16_t i : counter.count(text(bytes).data(), terms)) {
      found.push_back(bytes.substr(terms[i].begin, terms[i].size));
      CHECK(counter.count(i) == counts[found.back()]);
    }
    CHECK(found == order);
  }
}

TEST(an_index_finds_its_terms_and_no_others) {
  Random random(4);
  Strings all;
  for (int i = 0; i < 3000; ++i) all.push_back(random_word(random));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string bytes;
  std::vector<int64_t> offsets{0};
  for (size_t i = 0; i < all.size(); i += 2) {
    bytes += all[i];
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  const TermIndex index({text(bytes), offsets});
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t expected = i % 2 == 0 ? static_cast<int64_t>(i / 2) : -1;
    CHECK(index.find(TermKey::of(std::string_view(all[i])), text(all[i]).data(), all[i].size()) == expected);
  }
}

TEST(a_text_of_many_terms_is_one_row) {
  std::string s;
  const size_t n = 3 * TermCounter::kMost + 1;
  for (size_t i = 0; i < n; ++i) s += "word" + std::to_string(i % 5000) + ' ';
  const Corpus corpus({s});
  const TermCounts out = count_terms(corpus.texts, analysis(Unit::word, 1, 1), true, 1);
  CHECK(out.matrix.indices.size() == 5000 && out.n_texts.size() == 5000);
  for (size_t i = 0; i < 5000; ++i) {
    CHECK(out.matrix.indices[i] == static_cast<int32_t>(i) && out.n_texts[i] == 1);
    CHECK(out.occurrences[i] == out.matrix.counts[i]);
  }
  const TermIndex index(view_of(out.terms));
  const Csr m = transform(corpus.texts, analysis(Unit::word, 1, 1), index, {false, false, Norm::none, {}}, 1);
  CHECK(raw(m.indices) == raw(out.matrix.indices));
  for (size_t i = 0; i < 5000; ++i) CHECK(m.values[i] == static_cast<float>(out.matrix.counts[i]));
}

TEST(sorting_keeps_equal_ones_in_order) {
  Random random(5);
  std::vector<Count> spare;
  for (size_t n = 0; n < 300; ++n) {
    std::vector<Count> records;
    for (size_t i = 0; i < n; ++i)
      records.push_back({static_cast<uint32_t>(below(random, n % 2 == 0 ? 50 : 0x7FFFFFFF)), static_cast<uint32_t>(i)});
    std::vector<Count> expected = records;
    std::stable_sort(expected.begin(), expected.end(), [](Count a, Count b) { return a.id < b.id; });
    sort_by_id(records, spare);
    for (size_t i = 0; i < n; ++i) CHECK(records[i].id == expected[i].id && records[i].count == expected[i].count);
  }
}
