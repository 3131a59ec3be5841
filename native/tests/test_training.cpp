#include "training.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "check.h"
#include "clustering.h"
#include "random.h"
#include "search.h"

using namespace labelwood;

namespace {

// A sparse matrix that owns its arrays.
struct Matrix {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  std::vector<float> values;
  int64_t n_cols = 0;

  void end_row() { indptr.push_back(static_cast<int64_t>(indices.size())); }
  CsrView view() const { return {indptr, indices, values, n_cols}; }
};

Matrix random_rows(int64_t rows, int64_t cols, int64_t one_in, uint64_t seed) {
  Random random(seed);
  Matrix m;
  m.n_cols = cols;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j)
      if (random.below(one_in) == 0) {
        m.indices.push_back(static_cast<int32_t>(j));
        m.values.push_back(static_cast<float>(random.below(1000)) / 1000.0f + 0.001f);
      }
    m.end_row();
  }
  return m;
}

struct Trained {
  Tree tree;
  Blocks blocks;
  SearchTree search;

  Trained(const Matrix& X, const Matrix& members, const Matrix& vectors, Loss loss, int n_threads) {
    tree = balanced_tree(vectors.view(), {.arity = 3, .max_leaf = 20, .seed = 1}, n_threads);
    const TreeView shape{{tree.child_ptr.data(), tree.child_ptr.size()},
                         {tree.label_ptr.data(), tree.label_ptr.size()},
                         {tree.labels.data(), tree.labels.size()}};
    Progress progress;
    TrainingOptions options{};
    options.loss = loss;
    options.cost = options.positive_weight = options.bias = 1;
    options.tolerance = options.threshold = 0.1f;
    options.max_passes = 20;
    std::vector<int32_t> nodes(shape.n_nodes());
    std::iota(nodes.begin(), nodes.end(), 0);
    const TrainingData data{X.view(), members.view(), shape, {}, {}};
    blocks = train(data, options, {nodes, true, {}}, n_threads, progress);
    search.tree = shape;
    search.blocks = blocks.view(X.n_cols);
  }
  Trained(const Trained&) = delete;
};

std::vector<float> scores_of(const Trained& model, const Matrix& X, bool best_first, int n_threads) {
  SearchCosts costs;
  const SearchOptions options{.beam = 3, .link = Link::kL3Hinge, .path_weight = 0.5f, .normalize = false};
  const SearchRequest request{.k = 7, .best_first = best_first};
  const Answers answers = search(model.search, X.view(), options, request, n_threads, costs);
  return {answers.scores.begin(), answers.scores.end()};
}

}  // namespace

TEST(training_and_search_give_the_same_for_any_number_of_threads_and_order) {
  const Matrix X = random_rows(200, 300, 20, 1), members = random_rows(90, 200, 40, 2),
               vectors = random_rows(90, 300, 30, 3);
  for (Loss loss : {Loss::kSquaredHinge, Loss::kLogistic}) {
    const Trained one(X, members, vectors, loss, 1), many(X, members, vectors, loss, 4);
    check_blocks(one.search.tree, one.search.blocks);
    CHECK(one.blocks.bytes == many.blocks.bytes && one.blocks.row_starts == many.blocks.row_starts);
    CHECK(one.blocks.biases == many.blocks.biases && !one.blocks.bytes.empty());
    const std::vector<float> expected = scores_of(one, X, true, 1);
    CHECK(expected == scores_of(many, X, true, 4) && expected == scores_of(one, X, false, 2));
  }
}

TEST(rows_without_features_and_labels_without_rows_are_fine) {
  Matrix X = random_rows(5, 40, 10, 1), members, vectors;
  for (int i = 0; i < 3; ++i) X.end_row();
  members.n_cols = 8;
  vectors.n_cols = 40;
  for (int label = 0; label < 30; ++label) {
    if (label % 3 == 0) members.indices.push_back(label % 8), members.values.push_back(1);
    members.end_row();
    vectors.end_row();
  }
  const Trained model(X, members, vectors, Loss::kSquaredHinge, 2);
  check_blocks(model.search.tree, model.search.blocks);
  CHECK(scores_of(model, X, true, 1) == scores_of(model, X, false, 1));
}
