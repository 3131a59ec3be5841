#include "answers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "parallel.h"

namespace labelwood {

Answers mean_of(std::span<const AnswersView> models, int64_t n_rows, int64_t k, int n_threads) {
  constexpr int64_t kRowsAtOnce = 256;
  Answers out(n_rows, k);
  parallel_for(n_rows, kRowsAtOnce, n_threads, [&](int64_t begin, int64_t end, int) {
    TopK<float> best(k);
    std::vector<std::pair<int32_t, float>> named;
    for (int64_t row = begin; row < end; ++row) {
      named.clear();
      for (const AnswersView& m : models)
        for (int64_t i = row * m.k; i < (row + 1) * m.k; ++i)
          if (m.ids[i] >= 0) named.emplace_back(m.ids[i], m.scores[i]);
      // Stable: a label's scores are added in the order of the models.
      std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < named.size();) {
        const int32_t label = named[i].first;
        float sum = 0;
        for (; i < named.size() && named[i].first == label; ++i) sum += named[i].second;
        best.offer(sum / static_cast<float>(models.size()), label);
      }
      out.put(row, best);
    }
  });
  return out;
}

}  // namespace labelwood
