#include "sparse_text.h"

#include <string>
#include <vector>

#include "check.h"
#include "error.h"

using namespace labelwood;

template <class T>
static std::vector<T> list(const Buffer<T>& b) {
  return {b.begin(), b.end()};
}

static CsrView view(const Csr& m) {
  return {{m.indptr.data(), m.indptr.size()},
          {m.indices.data(), m.indices.size()},
          {m.values.data(), m.values.size()},
          m.n_cols};
}

TEST(labels_and_features_of_a_line_are_read) {
  const auto rows = parse_sparse_text("3,1 0:0.5 7:-2e1\n 2:1\r\n\n5", {}, 1);
  CHECK(list(rows.labels.indptr) == (std::vector<int64_t>{0, 2, 2, 2, 3}));
  CHECK(list(rows.labels.indices) == (std::vector<int32_t>{1, 3, 5}));
  CHECK(list(rows.features.indptr) == (std::vector<int64_t>{0, 2, 3, 3, 3}));
  CHECK(list(rows.features.indices) == (std::vector<int32_t>{0, 7, 2}));
  CHECK(list(rows.features.values) == (std::vector<float>{0.5f, -20.0f, 1.0f}));
  CHECK(rows.labels.n_cols == 6 && rows.features.n_cols == 8);
}

TEST(a_value_too_small_for_a_number_is_zero) {
  const auto rows = parse_sparse_text("1 0:1e-400 1:-1e-60 2:0.00000000000000000000000001\n", {}, 1);
  CHECK(list(rows.features.values) == (std::vector<float>{0.0f, -0.0f, 1e-26f}));
}

TEST(duplicate_features_are_added_and_duplicate_labels_count_once) {
  const auto rows = parse_sparse_text("2,2,0 5:1 3:2 5:0.25\n", {}, 1);
  CHECK(list(rows.labels.indices) == (std::vector<int32_t>{0, 2}));
  CHECK(list(rows.features.indices) == (std::vector<int32_t>{3, 5}));
  CHECK(list(rows.features.values) == (std::vector<float>{2.0f, 1.25f}));
}

TEST(svmlight_comments_blank_lines_and_queries_are_passed_over) {
  const auto rows = parse_sparse_text("# head\n1 qid:4 2:1 # tail\n\n2.0,3 1:1\n", {.svmlight = true}, 1);
  CHECK(list(rows.labels.indices) == (std::vector<int32_t>{1, 2, 3}));
  CHECK(list(rows.features.indptr) == (std::vector<int64_t>{0, 1, 2}));
}

TEST(the_first_bad_line_is_named_whatever_the_number_of_threads) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += i == 40000 || i == 90000 ? "1 2:x\n" : "1 2:3\n";
  for (int n_threads : {1, 8}) {
    int64_t line = -1;
    try {
      parse_sparse_text(text, {}, n_threads);
    } catch (const LineError& e) {
      line = e.line;
    }
    CHECK(line == 40000);
  }
}

TEST(a_label_may_carry_a_plus_sign) {
  const auto rows = parse_sparse_text("+1 2:1\n", {.svmlight = true}, 1);
  CHECK(list(rows.labels.indices) == (std::vector<int32_t>{1}));
}

TEST(bad_lines_are_refused) {
  const SparseTextFormat format{.n_labels = 4, .n_features = 9};
  for (const char* line : {"x 1:1",
                           "1, 1:1",
                           "1,,2 1:1",
                           "4 1:1",
                           "-1 1:1",
                           "1 9:1",
                           "1 -1:1",
                           "1 1:",
                           "1 1",
                           "1 1:nan",
                           "1 1:inf",
                           "1 1:1e99",
                           "1 1:1e999",
                           "1 1:1x",
                           "1 :1",
                           "1 1:1:1",
                           "99999999999999999999 1:1",
                           "1 99999999999999999999:1",
                           "1 1:--1",
                           "1 1:+-1",
                           "1 1:3e38 1:3e38",
                           "++1 1:1",
                           "+-1 1:1"})
    CHECK_THROWS(parse_sparse_text(line, format, 1), LineError);
}

TEST(any_chunking_and_number_of_threads_reads_the_same_and_writing_reads_back) {
  std::string text;
  for (int i = 0; i < 60000; ++i) {
    if (i % 7) text += std::to_string(i % 50);
    for (int j = 0; j < i % 5; ++j)
      text += " " + std::to_string(j * 11 + i % 3) + ":" + std::to_string(i * 0.001 + 0.1);
    text += "\n";
  }
  const auto one = parse_sparse_text(text, {}, 1), many = parse_sparse_text(text, {}, 8);
  CHECK(list(one.features.indices) == list(many.features.indices) &&
        list(one.labels.indptr) == list(many.labels.indptr));
  const std::string written = format_sparse_text(view(one.labels), view(one.features), 3);
  const auto again = parse_sparse_text(written, {}, 2);
  CHECK(list(one.features.values) == list(again.features.values) &&
        list(one.features.indices) == list(again.features.indices));
  CHECK(list(one.labels.indices) == list(again.labels.indices) && list(one.labels.indptr) == list(again.labels.indptr));
}

TEST(a_line_longer_than_many_chunks_is_one_row) {
  std::string text = "1 0:1\n2";
  for (int i = 0; i < 200000; ++i) text += " " + std::to_string(i) + ":1";
  const auto rows = parse_sparse_text(text + "\n3 5:1\n", {}, 4);
  CHECK(list(rows.features.indptr) == (std::vector<int64_t>{0, 1, 200001, 200002}));
  CHECK(list(rows.labels.indices) == (std::vector<int32_t>{1, 2, 3}));
}
