#include "clustering.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.h"
#include "fingerprints.h"
#include "interpolated_split.h"
#include "random.h"

namespace labelwood {

// The split without rounding: one label may be on both sides. Then every step of the maximisation gains or stays.
struct UnroundedSplit {
  // The objective after every choice of sides and every choice of centers.
  static std::vector<double> ascent(const CsrView& vectors, const LabelWeights& weights, const Interpolation& how,
                                    uint64_t stream) {
    const ClusterOptions options{.arity = 2, .max_leaf = 100, .seed = 0};
    const Fingerprints fingerprints(vectors);
    std::vector<int32_t> labels(vectors.n_rows());
    std::iota(labels.begin(), labels.end(), 0);
    InterpolatedSplit split(vectors, fingerprints, weights, how, options, 1);
    split.start(labels, stream);
    std::vector<double> reached, on_first(labels.size());
    for (int round = 0; round < 8; ++round) {
      split.score();
      if (round > 0) reached.push_back(split.objective(cut));
      cut = split.arrange();
      reached.push_back(split.objective(cut));
      for (int64_t i = 0; i < std::ssize(split.scored_); ++i) {
        const auto& s = split.scored_[i];
        const double first = i < cut.whole ? 1 : i == cut.whole ? cut.share : 0;
        split.centers_.move(s.label, s.weight * (first - on_first[s.label]), 0, 1);
        split.centers_.move(s.label, s.weight * (round == 0 ? 1 - first : on_first[s.label] - first), 0, -1);
        on_first[s.label] = first;
      }
      split.centers_.update();
    }
    return reached;
  }

 private:
  static inline InterpolatedSplit::Cut cut;
};

}  // namespace labelwood

using namespace labelwood;

namespace {

struct Vectors {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  std::vector<float> values;
  int64_t n_cols = 0;

  void add(const std::vector<int32_t>& features) {
    const float value = features.empty() ? 0 : 1 / std::sqrt(static_cast<float>(features.size()));
    for (int32_t feature : features) {
      indices.push_back(feature);
      values.push_back(value);
      n_cols = std::max<int64_t>(n_cols, feature + 1);
    }
    indptr.push_back(std::ssize(indices));
  }
  CsrView view() const { return {indptr, indices, values, n_cols}; }
};

// Labels in `n_groups` groups (label i in group i % n_groups), each with most features from the group's own ten.
Vectors planted(int n_labels, int n_groups, uint64_t seed) {
  Vectors out;
  Random random(seed);
  for (int label = 0; label < n_labels; ++label) {
    std::vector<int32_t> features;
    for (int32_t f = 0; f < 10; ++f)
      if (random.below(10) < 8) features.push_back(label % n_groups * 10 + f);
    features.push_back(n_groups * 10 + static_cast<int32_t>(random.below(50)));
    out.add(features);
  }
  return out;
}

bool same(const Tree& a, const Tree& b) {
  return std::ranges::equal(a.child_ptr, b.child_ptr) && std::ranges::equal(a.label_ptr, b.label_ptr) &&
         std::ranges::equal(a.labels, b.labels);
}

// Every label once, no leaf too large, no node with too many children.
bool sound(const Tree& tree, int64_t n_labels, const ClusterOptions& options) {
  std::vector<int32_t> labels(tree.labels.begin(), tree.labels.end()), all(n_labels);
  std::iota(all.begin(), all.end(), 0);
  std::sort(labels.begin(), labels.end());
  if (labels != all) return false;
  for (size_t node = 0; node + 1 < tree.child_ptr.size(); ++node) {
    const int64_t size = tree.label_ptr[node + 1] - tree.label_ptr[node];
    const int32_t children = tree.child_ptr[node + 1] - tree.child_ptr[node];
    if (size > options.max_leaf || children > options.arity) return false;
    if (children == 1 || (size > 0) == (children > 0)) return false;
  }
  return true;
}

using Builder = Tree (*)(const CsrView&, const ClusterOptions&, int);
constexpr Builder kBuilders[] = {balanced_tree, kmeans_tree};

}  // namespace

TEST(trees_are_sound_and_the_same_for_any_number_of_threads) {
  // More labels than a large node has, so that threads share one, and more than a sample holds.
  const Vectors vectors = planted(20000, 40, 1);
  for (Builder build : kBuilders)
    for (int arity : {2, 3, 16}) {
      const ClusterOptions options{.arity = arity, .max_leaf = 50, .min_size = 2, .seed = 5};
      const Tree tree = build(vectors.view(), options, 1);
      CHECK(sound(tree, 20000, options));
      CHECK(same(tree, build(vectors.view(), options, 2)));
      CHECK(same(tree, build(vectors.view(), options, 8)));
    }
}

TEST(kmeans_puts_planted_groups_into_leaves_of_their_own) {
  const Vectors vectors = planted(600, 6, 2);
  const Tree tree = kmeans_tree(vectors.view(), {.arity = 24, .max_leaf = 120, .min_size = 4, .seed = 0}, 1);
  for (size_t node = 0; node + 1 < tree.child_ptr.size(); ++node)
    for (int64_t i = tree.label_ptr[node]; i < tree.label_ptr[node + 1]; ++i)
      CHECK(tree.labels[i] % 6 == tree.labels[tree.label_ptr[node]] % 6);
}

TEST(labels_that_cannot_be_told_apart_still_make_a_tree) {
  for (Builder build : kBuilders)
    for (int n_labels : {1, 2, 3, 7, 300})
      for (bool zero : {false, true}) {
        Vectors vectors;
        for (int i = 0; i < n_labels; ++i) vectors.add(zero ? std::vector<int32_t>{} : std::vector<int32_t>{0, 3});
        const ClusterOptions options{.arity = 4, .max_leaf = 2, .seed = 0};
        CHECK(sound(build(vectors.view(), options, 2), n_labels, options));
      }
}

TEST(clusters_smaller_than_the_minimum_are_dissolved) {
  const Vectors vectors = planted(1000, 25, 3);
  const Tree tree = kmeans_tree(vectors.view(), {.arity = 100, .max_leaf = 200, .min_size = 5, .seed = 0}, 1);
  CHECK(tree.child_ptr.size() > 10);
  for (size_t node = 1; node + 1 < tree.child_ptr.size(); ++node)
    if (tree.child_ptr[node] == tree.child_ptr[node + 1]) CHECK(tree.label_ptr[node + 1] - tree.label_ptr[node] >= 5);
}

TEST(labels_without_a_vector_lie_together) {
  Vectors vectors = planted(200, 4, 4);
  for (int i = 0; i < 30; ++i) vectors.add({});
  const Tree tree = kmeans_tree(vectors.view(), {.arity = 8, .max_leaf = 60, .min_size = 2, .seed = 0}, 1);
  int leaves = 0;
  for (size_t node = 0; node + 1 < tree.child_ptr.size(); ++node) {
    const auto begin = tree.labels.begin() + tree.label_ptr[node], end = tree.labels.begin() + tree.label_ptr[node + 1];
    const auto empty = std::count_if(begin, end, [](int32_t label) { return label >= 200; });
    CHECK(empty == 0 || empty == end - begin);
    leaves += empty > 0;
  }
  CHECK(leaves == 1);
}

TEST(nodes_below_the_greatest_depth_are_cut_evenly) {
  const Vectors vectors = planted(1000, 10, 5);
  const ClusterOptions options{.arity = 4, .max_leaf = 100, .max_depth = 0, .seed = 0};
  const Tree tree = kmeans_tree(vectors.view(), options, 1);
  CHECK(sound(tree, 1000, options));
  for (size_t node = 0; node + 1 < tree.child_ptr.size(); ++node)
    if (tree.child_ptr[node] == tree.child_ptr[node + 1]) CHECK(tree.label_ptr[node + 1] - tree.label_ptr[node] > 80);
}

TEST(interpolated_objective_never_falls_before_rounding) {
  Random random(9);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Vectors vectors = planted(20 + repeat, 1 + repeat % 7, random.next());
    std::vector<double> frequency, covering;
    for (int64_t label = 0; label < vectors.view().n_rows(); ++label) {
      frequency.push_back(static_cast<double>(1 + random.below(1000)));
      covering.push_back(static_cast<double>(random.below(100)));
    }
    const Interpolation how{.lam = 0.1 * (repeat % 20), .smoothing = repeat % 2 * 0.1, .midpoint = repeat % 3 != 0};
    const std::vector<double> reached =
        UnroundedSplit::ascent(vectors.view(), {frequency, covering}, how, random.next());
    CHECK(reached.size() == 15);
    for (size_t i = 1; i < reached.size(); ++i) CHECK(reached[i] >= reached[i - 1] - 1e-12);
  }
}
