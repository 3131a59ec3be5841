// The best labels of many rows: ids and scores, both rows × k, best first, padded by id −1 and score −infinity.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "buffer.h"
#include "error.h"
#include "topk.h"

namespace labelwood {

struct Answers {
  Answers(int64_t n_rows, int64_t width)
      : k(width), ids(size_of(n_rows, width), -1),
        scores(size_of(n_rows, width), -std::numeric_limits<float>::infinity()) {}

  // Writes a row's answers and empties the selector for the next row.
  void put(int64_t row, TopK<float>& best) {
    int64_t place = row * k;
    for (const auto& [score, id] : best.sorted()) {
      ids[place] = id;
      scores[place++] = score;
    }
    best.clear();
  }

  int64_t k;
  Buffer<int32_t> ids;
  Buffer<float> scores;

 private:
  static size_t size_of(int64_t n_rows, int64_t width) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (n_rows < 0 || width < 1 || width > kMost || n_rows > std::numeric_limits<int64_t>::max() / width)
      throw Error("there can be from 1 to " + std::to_string(kMost) + " answers a row");
    return static_cast<size_t>(n_rows * width);
  }
};

// Answers of several models, of any width, best first.
struct AnswersView {
  std::span<const int32_t> ids;
  std::span<const float> scores;
  int64_t k = 0;
};

// The k best labels of each row by the mean of the models' scores; a label that a model does not name scores zero
// there. Labels that some model names among its first `tier` come first, by the mean over the models that do so. Those
// that some model names among its first 2 · `tier` follow, and so on: what comes later never changes what is before it.
// Scores never rise, so a label that would score more than the one before it gets that one's score.
Answers mean_of(std::span<const AnswersView> models, int64_t n_rows, int64_t k, int64_t tier, int n_threads);

}  // namespace labelwood
