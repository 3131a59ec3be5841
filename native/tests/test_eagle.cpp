#include "eagle.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.h"
#include "random.h"

using namespace labelwood;

namespace {

constexpr EagleOptions kOptions{.iterations = 20, .step = 0.1, .leave_out = false, .seed = 0};

// A matrix in compressed rows that owns its arrays.
struct Rows {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  std::vector<float> values;
  int64_t n_cols = 0;

  void add(const std::vector<int32_t>& columns, const std::vector<float>& row) {
    indices.insert(indices.end(), columns.begin(), columns.end());
    values.insert(values.end(), row.begin(), row.end());
    indptr.push_back(std::ssize(indices));
  }
  CsrView view() const { return {indptr, indices, values, n_cols}; }
};

// Rows of two features of unit length, groups of `size` rows one after another, and labels of random groups.
struct Problem {
  Rows X, labels, groups;
  std::vector<float> dense;

  Problem(int n_groups, int size, int n_labels, uint64_t seed) {
    Random random(seed);
    X.n_cols = 30, labels.n_cols = n_groups, groups.n_cols = n_groups * size;
    dense.assign(groups.n_cols * X.n_cols, 0.0f);
    for (int32_t row = 0; row < groups.n_cols; ++row) {
      const auto a = static_cast<int32_t>(random.below(15)), b = 15 + static_cast<int32_t>(random.below(15));
      X.add({a, b}, {0.6f, 0.8f});
      dense[row * 30 + a] = 0.6f, dense[row * 30 + b] = 0.8f;
    }
    for (int32_t group = 0; group < n_groups; ++group) {
      std::vector<int32_t> rows;
      for (int32_t i = 0; i < size; ++i) rows.push_back(group * size + i);
      groups.add(rows, std::vector<float>(size, 1));
    }
    for (int label = 0; label < n_labels; ++label) {
      std::vector<int32_t> mine;
      for (int32_t group = 0; group < n_groups; ++group)
        if (random.below(3) == 0) mine.push_back(group);
      labels.add(mine, std::vector<float>(mine.size(), 1));
    }
  }
  GroupedLabels grouped() const { return {labels.view(), groups.view()}; }
};

bool same(const Buffer<float>& a, const Buffer<float>& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

TEST(vectors_of_labels_do_not_depend_on_threads) {
  const Problem p(40, 5, 60, 1);
  const auto one = eagle(p.X.view(), p.grouped(), kOptions, 1), many = eagle(p.X.view(), p.grouped(), kOptions, 4);
  CHECK(same(one.weights, many.weights) && same(one.cosines, many.cosines));
}

TEST(dense_rows_give_the_vectors_of_sparse_ones) {
  const Problem p(30, 4, 20, 2);
  const auto sparse = eagle(p.X.view(), p.grouped(), kOptions, 1);
  const auto dense = eagle(DenseView{p.dense.data(), p.groups.n_cols, p.X.n_cols}, p.grouped(), kOptions, 1);
  for (size_t i = 0; i < sparse.cosines.size(); ++i) CHECK(std::abs(sparse.cosines[i] - dense.cosines[i]) < 1e-5);
}

TEST(cosines_are_those_of_the_weighted_sum_of_rows) {
  const Problem p(30, 4, 10, 3);
  const auto found = eagle(p.X.view(), p.grouped(), kOptions, 1);
  size_t slot = 0;
  for (int64_t label = 0; label < 10; ++label) {
    std::vector<double> vector(p.X.n_cols);
    const size_t first = slot;
    for (int32_t group : p.labels.view().row(label))
      for (int32_t row : p.groups.view().row(group)) {
        const auto features = p.X.view().row(row);
        for (int i = 0; i < 2; ++i) vector[features[i]] += found.weights[slot] * (i == 0 ? 0.6 : 0.8);
        ++slot;
      }
    double square = 0;
    for (double v : vector) square += v * v;
    CHECK(slot == first || std::abs(square - 1) < 1e-4);
    slot = first;
    for (int32_t group : p.labels.view().row(label))
      for (int32_t row : p.groups.view().row(group)) {
        const auto f = p.X.view().row(row);
        CHECK(std::abs(0.6 * vector[f[0]] + 0.8 * vector[f[1]] - found.cosines[slot++]) < 1e-4);
      }
  }
  CHECK(slot == found.cosines.size());
}

TEST(a_group_of_weight_zero_is_not_learned_from) {
  Problem p(30, 4, 1, 4);
  const int64_t last = std::ssize(p.labels.values) - 1;
  p.labels.values[last] = 0;
  const auto watched = eagle(p.X.view(), p.grouped(), kOptions, 1);
  p.labels.indices.pop_back(), p.labels.values.pop_back(), p.labels.indptr[1] = last;
  const auto without = eagle(p.X.view(), p.grouped(), kOptions, 1);
  CHECK(std::equal(without.cosines.begin(), without.cosines.end(), watched.cosines.begin()));
  for (size_t i = without.weights.size(); i < watched.weights.size(); ++i) CHECK(watched.weights[i] == 0);
}

TEST(rows_that_cancel_out_start_from_one_of_them) {
  Problem p(8, 2, 1, 5);
  for (int group = 0; group < 8; ++group) {  // x and −x
    p.X.indices[group * 4 + 2] = p.X.indices[group * 4] = 0;
    p.X.indices[group * 4 + 3] = p.X.indices[group * 4 + 1] = 20;
    p.X.values[group * 4 + 2] = -0.6f, p.X.values[group * 4 + 3] = -0.8f;
  }
  for (float cosine : eagle(p.X.view(), p.grouped(), kOptions, 1).cosines) CHECK(std::abs(std::abs(cosine) - 1) < 1e-5);
}
