#include "search.h"

#include <algorithm>
#include <vector>

#include "check.h"
#include "random.h"

using namespace labelwood;

namespace {

constexpr int32_t kFeatures = 80;  // more than one word of the bitmaps

// A tree of any shape with weights of few values, so that many scores tie and many saturate.
struct RandomModel {
  std::vector<int32_t> child_ptr{1}, labels;
  std::vector<int64_t> label_ptr{0};
  Blocks blocks;
  int32_t n_labels;
  float offset;  // of all biases: far below, scores differ by their last bits only

  explicit RandomModel(Random& random)
      : n_labels(1 + static_cast<int32_t>(random.below(40))), offset(random.below(4) == 0 ? -20.0f : 0.0f) {
    grow(random);
    for (int32_t node = 0; node < view().n_nodes(); ++node) add_block(view().n_siblings(node), random);
  }

  TreeView view() const { return {child_ptr, label_ptr, labels}; }
  SearchTree search_tree() const { return {view(), blocks.view(kFeatures)}; }

 private:
  // Nodes are visited level by level; each becomes a leaf or hands its labels to children.
  void grow(Random& random) {
    std::vector<std::vector<int32_t>> nodes(1);
    for (int32_t label = 0; label < n_labels; ++label) nodes[0].push_back(label);
    for (size_t node = 0; node < nodes.size(); ++node) {
      const std::vector<int32_t> own = nodes[node];
      const int64_t parts = std::min<int64_t>(std::ssize(own), 2 + random.below(3));
      if (parts < 2 || random.below(4) == 0) {
        labels.insert(labels.end(), own.begin(), own.end());
      } else {
        const size_t first = nodes.size();
        nodes.resize(first + parts);
        for (int64_t i = 0; i < std::ssize(own); ++i)
          nodes[first + (i < parts ? i : random.below(parts))].push_back(own[i]);
      }
      child_ptr.push_back(static_cast<int32_t>(nodes.size()));
      label_ptr.push_back(std::ssize(labels));
    }
  }

  void add_block(int32_t n_siblings, Random& random) {
    constexpr float kWeights[] = {-1.0f, 0.5f, 1.0f};
    SegmentEntries entries;
    for (int32_t feature = 0; feature < kFeatures; ++feature)
      for (int32_t sibling = 0; sibling < n_siblings; ++sibling)
        if (random.below(4) == 0) {
          entries.features.push_back(feature);
          entries.columns.push_back(static_cast<uint8_t>(sibling));
          entries.values.push_back(kWeights[random.below(3)] * (random.below(8) == 0 ? 1e-6f : 1.0f));
        }
    std::vector<float> biases;
    for (int32_t i = 0; i < n_siblings; ++i)
      biases.push_back(offset + 0.5f * static_cast<float>(random.below(3)) - 0.5f);
    pack({&entries, 1}, biases, kFeatures, blocks);
  }
};

struct Rows {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  std::vector<float> values;

  Rows(int n_rows, Random& random) {
    for (int row = 0; row < n_rows; ++row) {
      for (int32_t feature = 0; feature < kFeatures; ++feature)
        if (random.below(20) == 0)
          indices.push_back(feature), values.push_back(0.5f * static_cast<float>(1 + random.below(2)));
      indptr.push_back(std::ssize(indices));
    }
  }
  CsrView view() const { return {indptr, indices, values, kFeatures}; }
};

bool equal(const Answers& a, const Answers& b) {
  return std::ranges::equal(a.ids, b.ids) && std::ranges::equal(a.scores, b.scores);
}

}  // namespace

TEST(best_first_search_is_beam_search_on_ten_thousand_trees_with_ties) {
  Random random(3);
  int64_t tied = 0, saturated = 0, fewer = 0;
  for (int repeat = 0; repeat < 10'000; ++repeat) {
    const RandomModel model(random);
    const SearchTree tree = model.search_tree();
    const Rows rows(3, random);
    SearchRequest request{.k = 1 + static_cast<int64_t>(random.below(8))};
    const auto beam = static_cast<int64_t>(random.below(5));
    const SearchOptions options{.beam = beam > 0 ? std::optional(beam) : std::nullopt,
                                .link = random.below(4) == 0 ? Link::kSigmoid : Link::kL3Hinge,
                                .path_weight = random.below(3) == 0 ? 0.25f : 1.0f,
                                .normalize = false};
    SearchCosts best_first, level_by_level;
    const Answers first = search(tree, rows.view(), options, request, 1, best_first);
    request.best_first = false;
    const Answers level = search(tree, rows.view(), options, request, 1, level_by_level);
    CHECK(equal(first, level));
    CHECK(best_first.leaves <= level_by_level.leaves && best_first.nodes <= level_by_level.nodes);
    fewer += best_first.leaves < level_by_level.leaves;
    for (size_t i = 0; i + 1 < first.ids.size(); ++i) {
      tied += first.ids[i + 1] >= 0 && first.scores[i] == first.scores[i + 1];
      saturated += first.scores[i] == 1;
    }
  }
  CHECK(tied > 5'000);
  CHECK(saturated > 1'000);
  CHECK(fewer > 3'000);
}
