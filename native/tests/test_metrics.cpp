#include "metrics.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "error.h"

using namespace labelwood;

namespace {

// Owns what the views point to.
struct Case {
  std::vector<int32_t> ids;
  int64_t width;
  std::vector<int64_t> indptr;
  std::vector<int32_t> indices;
  int64_t n_labels;
  std::vector<int32_t> ks;
  std::vector<double> gains;

  Ranking rank(int n_threads = 1, bool count_labels = true) const {
    const int64_t n_rows = static_cast<int64_t>(ids.size()) / width;
    return rank_predictions({ids, n_rows, width}, {indptr, indices, {}, n_labels}, {ks, gains, count_labels},
                            n_threads);
  }
};

Case random_case(int64_t n_rows) {
  std::mt19937 random(7);
  Case c{{}, 5, {0}, {}, 50, {1, 3, 5}, {}};
  for (int64_t row = 0; row < n_rows; ++row) {
    for (int position = 0; position < 5; ++position) c.ids.push_back(static_cast<int32_t>(random() % 54) - 2);
    for (int32_t label = 0; label < 50; ++label)
      if (random() % 10 == 0) c.indices.push_back(label);
    c.indptr.push_back(static_cast<int64_t>(c.indices.size()));
  }
  for (int label = 0; label < 50; ++label) c.gains.push_back(1.0 + 1.0 / (label + 1));
  return c;
}

bool near(double a, double b) { return std::abs(a - b) < 1e-12; }

}  // namespace

TEST(sums_of_two_rows_are_those_worked_out_by_hand) {
  // Row 0 predicts 3, 0 and has {0, 1}; row 1 predicts 2 and has nothing.
  const Case c{{3, 0, 2, -1}, 2, {0, 2, 2}, {0, 1}, 3, {1, 2}, {2.0, 5.0, 1.0}};
  const Ranking r = c.rank();
  const double second = 1.0 / std::log2(3.0);
  CHECK(r.rows[0].predicted == 2 && r.rows[1].predicted == 3);
  CHECK(r.rows[0].correct == 0 && r.rows[1].correct == 1);
  CHECK(r.rows[0].recall == 0.0 && r.rows[1].recall == 0.5);
  CHECK(near(r.rows[1].ndcg, second / (1.0 + second)));
  CHECK(r.rows[0].gain == 0.0 && r.rows[0].best_gain == 5.0);
  CHECK(r.rows[1].gain == 2.0 && r.rows[1].best_gain == 7.0);
  CHECK(near(r.rows[1].psndcg, 2.0 * second / (1.0 + second)));
  CHECK(near(r.rows[1].best_psndcg, (5.0 + 2.0 * second) / (1.0 + second)));
}

TEST(labels_count_when_true_or_predicted_even_beyond_the_last_column) {
  const Case c{{3, 0, 2, -1}, 2, {0, 2, 2}, {0, 1}, 3, {1, 2}, {}};
  const Ranking r = c.rank();
  CHECK(r.n_true == 2 && r.n_occurring == 2);
  CHECK(r.labels[0].in_use == 4);  // 0 and 1 are true, 2 and 3 predicted first
  CHECK(r.labels[0].covered == 0 && r.labels[1].covered == 1);
  CHECK(r.labels[0].f1 == 0.0 && r.labels[1].f1 == 1.0);
  CHECK(r.predictions[0] == 1 && r.predictions[1] == 0 && r.predictions[2] == 1);
  CHECK(r.corrects[0] == 1 && r.truths[1] == 1);
}

TEST(a_label_repeated_in_a_row_is_correct_once) {
  const Case c{{1, 1}, 2, {0, 1}, {1}, 2, {2}, {1.0, 4.0}};
  const Ranking r = c.rank();
  CHECK(r.rows[0].predicted == 2 && r.rows[0].correct == 1 && r.rows[0].gain == 4.0 && r.rows[0].recall == 1.0);
}

TEST(any_number_of_threads_gives_the_same_bits) {
  const Case c = random_case(10000);
  const Ranking one = c.rank(1);
  for (int n_threads : {2, 8}) {
    const Ranking many = c.rank(n_threads);
    for (size_t at = 0; at < 3; ++at) {
      CHECK(one.rows[at].ndcg == many.rows[at].ndcg && one.rows[at].psndcg == many.rows[at].psndcg);
      CHECK(one.rows[at].recall == many.rows[at].recall && one.rows[at].best_gain == many.rows[at].best_gain);
      CHECK(one.labels[at].f1 == many.labels[at].f1 && one.labels[at].in_use == many.labels[at].in_use);
    }
  }
}

TEST(row_sums_do_not_depend_on_whether_labels_are_counted) {
  const Case c = random_case(500);
  CHECK(c.rank(1, true).rows[2].ndcg == c.rank(1, false).rows[2].ndcg);
  CHECK(c.rank(1, false).truths.size() == 0);
}

TEST(what_does_not_fit_together_is_refused) {
  const Case good = random_case(3);
  for (const std::vector<int32_t>& ks : {std::vector<int32_t>{}, {0}, {3, 3}, {3, 1}, {6}}) {
    Case bad = good;
    bad.ks = ks;
    CHECK_THROWS(bad.rank(), Error);
  }
  Case short_gains = good, fewer_rows = good;
  short_gains.gains.pop_back();
  CHECK_THROWS(short_gains.rank(), Error);
  fewer_rows.ids.resize(10);
  CHECK_THROWS(fewer_rows.rank(), Error);
  const Case unordered{{1, 1}, 2, {0, 2}, {1, 0}, 2, {2}, {}};
  CHECK_THROWS(unordered.rank(), Error);
}

TEST(best_entries_are_ordered_and_padded) {
  const std::vector<int64_t> indptr{0, 4, 5};
  const std::vector<int32_t> indices{0, 2, 5, 6, 3};
  const std::vector<float> values{0.0f, 1.0f, 1.0f, -1.0f, -2.0f};
  const Answers best = best_entries({indptr, indices, values, 7}, 3, 2);
  const std::vector<int32_t> wanted{2, 5, 0, 3, -1, -1};
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(best.ids[i] == wanted[i]);
  CHECK(best.scores[3] == -2.0f && best.scores[4] == -std::numeric_limits<float>::infinity());
}
