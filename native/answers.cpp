#include "answers.h"

#include <algorithm>
#include <vector>

#include "parallel.h"

namespace labelwood {
namespace {

struct Named {
  int32_t label;
  int64_t rank;
  float score;
};

struct Mean {
  int64_t width;  // of the tier
  float score;
  int32_t label;

  bool operator<(const Mean& other) const {
    if (width != other.width) return width < other.width;
    return score != other.score ? score > other.score : label < other.label;
  }
};

// The mean of the scores of one label, which are in the order of the models.
Mean mean_of(std::span<const Named> named, int64_t tier, size_t n_models) {
  int64_t best = named[0].rank;
  for (const Named& one : named) best = std::min(best, one.rank);
  int64_t width = tier;
  while (width <= best) width *= 2;
  float sum = 0;
  for (const Named& one : named)
    if (one.rank < width) sum += one.score;
  return {width, sum / static_cast<float>(n_models), named[0].label};
}

}  // namespace

Answers mean_of(std::span<const AnswersView> models, int64_t n_rows, int64_t k, int64_t tier, int n_threads) {
  constexpr int64_t kRowsAtOnce = 256;
  Answers out(n_rows, k);
  parallel_for(n_rows, kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    std::vector<Named> named;
    std::vector<Mean> means;
    for (int64_t row = begin; row < end; ++row) {
      named.clear(), means.clear();
      for (const AnswersView& m : models)
        for (int64_t rank = 0; rank < m.k; ++rank)
          if (const int64_t i = row * m.k + rank; m.ids[i] >= 0) named.push_back({m.ids[i], rank, m.scores[i]});
      // Stable: a label's scores are added in the order of the models.
      std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.label < b.label; });
      for (size_t i = 0, next = 0; i < named.size(); i = next) {
        while (next < named.size() && named[next].label == named[i].label) ++next;
        means.push_back(mean_of(std::span(named).subspan(i, next - i), tier, models.size()));
      }
      const int64_t n = std::min<int64_t>(k, std::ssize(means));
      std::partial_sort(means.begin(), means.begin() + n, means.end());
      for (int64_t i = 0; i < n; ++i) {
        out.ids[row * k + i] = means[i].label;
        out.scores[row * k + i] = i > 0 ? std::min(means[i].score, out.scores[row * k + i - 1]) : means[i].score;
      }
    }
  });
  return out;
}

}  // namespace labelwood
