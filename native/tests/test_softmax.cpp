#include "check.h"
#include "product_codes.h"
#include "random.h"
#include "softmax_search.h"
#include "softmax_training.h"
#include "stored_rows.h"

#include <cmath>
#include <vector>

using namespace labelwood;

namespace {

// Every row has some features and some labels, a few of them none.
struct Data {
  std::vector<int64_t> x_ptr{0}, y_ptr{0};
  std::vector<int32_t> features, labels;
  std::vector<float> values;

  Data(int64_t n_rows, int32_t n_features, int32_t n_labels, uint64_t seed) {
    Random random(seed);
    for (int64_t row = 0; row < n_rows; ++row) {
      for (int32_t f = 0; f < n_features; ++f)
        if (random.below(4) == 0 && row % 10 != 9)
          features.push_back(f), values.push_back(static_cast<float>(1 + random.below(5)));
      for (int32_t l = 0; l < n_labels; ++l)
        if (random.below(n_labels) == 0) labels.push_back(l);
      x_ptr.push_back(std::ssize(features));
      y_ptr.push_back(std::ssize(labels));
    }
  }
};

// Node 0 has three children, of which the first is a leaf and the last an only child's parent.
const std::vector<int32_t> kChildren{1, 4, 4, 6, 7, 7, 7, 7};
const std::vector<int64_t> kLabelEnds{0, 0, 1, 1, 1, 2, 3, 4};
const std::vector<int32_t> kLabels{2, 0, 3, 1};

struct Learned {
  std::vector<float> embeddings, vectors;
};

Learned learn(const Data& data, int32_t n_features, bool flat, Targets targets, int threads) {
  const CsrView X{data.x_ptr, data.features, data.values, n_features}, Y{data.y_ptr, data.labels, {}, 4};
  Learned out{std::vector<float>(n_features * 16), std::vector<float>(4 * 16)};
  Random random(1);
  for (float& value : out.embeddings) value = static_cast<float>(random.below(1000)) / 1000 - 0.5f;
  const SoftmaxOptions options{.epochs = 3,
                               .learning_rate = 1,
                               .targets = targets,
                               .decay = 0.01f,
                               .scaling = Scaling::kMean,
                               .batch_rows = 7,
                               .batch_entries = 1 << 13,
                               .seed = 0};
  const SoftmaxTraining training{options, 16, {}};
  Progress progress;
  const TreeView tree{kChildren, kLabelEnds, kLabels};
  if (flat)
    train_one_vs_rest(X, Y, training, out.embeddings.data(), out.vectors.data(), threads, progress);
  else
    train_softmax_tree(X, Y, tree, training, out.embeddings.data(), out.vectors.data(), threads, progress);
  return out;
}

}  // namespace

TEST(a_node_has_a_vector_for_each_child_but_the_first) {
  const auto first = VectorsOfNodes({kChildren, kLabelEnds, kLabels}).first;
  CHECK((first == std::vector<int32_t>{0, 2, 2, 3, 3, 3, 3, 3}));
}

TEST(training_gives_the_same_numbers_for_any_number_of_threads) {
  const Data data(200, 30, 4, 0);
  for (bool flat : {false, true})
    for (Targets targets : {Targets::kDrawn, Targets::kAll}) {
      const Learned one = learn(data, 30, flat, targets, 1);
      for (int threads : {2, 5}) {
        const Learned other = learn(data, 30, flat, targets, threads);
        CHECK(one.embeddings == other.embeddings);
        CHECK(one.vectors == other.vectors);
      }
      for (float value : one.vectors) CHECK(std::isfinite(value));
    }
}

TEST(scores_of_all_labels_of_a_tree_sum_to_one) {
  const Data data(200, 30, 4, 0);
  const Learned learned = learn(data, 30, false, Targets::kAll, 2);
  const std::vector<int32_t> first = VectorsOfNodes({kChildren, kLabelEnds, kLabels}).first;
  SoftmaxModel model;
  model.embeddings = {.n = 30, .width = 16, .plain = learned.embeddings, .codes = {}, .centers = {}, .scales = {}};
  model.vectors = {
      .n = 3, .width = 16, .plain = std::span(learned.vectors).first(48), .codes = {}, .centers = {}, .scales = {}};
  model.tree = {kChildren, kLabelEnds, kLabels};
  model.first_vectors = first;
  const CsrView X{data.x_ptr, data.features, data.values, 30};
  int64_t opened = 0;
  const Answers found = search(model, X, {.k = 4, .allowed = {}}, 2, opened);
  for (int64_t row = 0; row < X.n_rows(); ++row) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += found.scores[row * 4 + i];
    CHECK(std::abs(sum - 1) < 1e-4f);
  }
  CHECK(opened > 0);
}

TEST(codes_give_back_rows_that_are_few_enough_for_every_part_to_have_a_center) {
  constexpr int64_t kRows = 100, kWidth = 7;
  std::vector<float> rows(kRows * kWidth);
  Random random(3);
  for (float& value : rows) value = static_cast<float>(random.below(2001)) / 1000 - 1;
  const ProductCodes codes = product_codes(rows.data(), kRows, kWidth, 3, 0, 2);
  const StoredRows stored{.n = kRows,
                          .width = kWidth,
                          .plain = {},
                          .part = 3,
                          .codes = {codes.codes.data(), codes.codes.size()},
                          .centers = {codes.centers.data(), codes.centers.size()},
                          .scales = {codes.scales.data(), codes.scales.size()}};
  check_shape(stored);
  const std::vector<float> ones(kWidth, 1.0f);
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<float> back(kWidth);
    stored.add(row, 1.0f, back.data());
    float sum = 0;
    for (int64_t i = 0; i < kWidth; ++i) {
      CHECK(std::abs(back[i] - rows[row * kWidth + i]) < 0.05f);
      sum += back[i];
    }
    CHECK(std::abs(stored.dot(row, ones.data()) - sum) < 1e-4f);
  }
}
