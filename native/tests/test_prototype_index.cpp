#include "prototype_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "check.h"
#include "error.h"
#include "simd/kernels.h"

using namespace labelwood;

namespace {

struct Rows {
  std::vector<float> values;
  int64_t n, width;

  DenseView view() const { return {values.data(), n, width}; }
  float* row(int64_t i) { return values.data() + i * width; }
};

Rows unit_rows(int64_t n, int64_t width, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Rows out{std::vector<float>(n * width), n, width};
  for (int64_t i = 0; i < n; ++i) {
    double squares = 0;
    for (int64_t j = 0; j < width; ++j) squares += std::pow(out.row(i)[j] = normal(random), 2);
    for (int64_t j = 0; j < width; ++j) out.row(i)[j] /= static_cast<float>(std::sqrt(squares));
  }
  return out;
}

bool same(const Answers& a, const Answers& b) {
  return a.ids.size() == b.ids.size() && std::memcmp(a.ids.data(), b.ids.data(), a.ids.size() * sizeof(int32_t)) == 0 &&
         std::memcmp(a.scores.data(), b.scores.data(), a.scores.size() * sizeof(float)) == 0;
}

// Clusters that have nothing to do with where prototypes are, two for each label.
std::vector<int32_t> by_turns(int64_t n_labels, int64_t n_clusters) {
  n_clusters = std::min(n_labels, n_clusters);
  std::vector<int32_t> out;
  for (int64_t label = 0; label < n_labels; ++label)
    for (int64_t cluster : {label, label * label + 3}) out.push_back(static_cast<int32_t>(cluster % n_clusters));
  return out;
}

// Columns of unit length and at right angles.
Rows some_directions(int64_t width, int64_t n, uint32_t seed) {
  Rows found = unit_rows(n, width, seed), out{std::vector<float>(width * n), width, n};
  for (int64_t a = 0; a < n; ++a) {
    std::vector<double> row(found.row(a), found.row(a) + width);
    for (int turn = 0; turn < 2; ++turn)
      for (int64_t b = 0; b < a; ++b) {
        double product = 0;
        for (int64_t i = 0; i < width; ++i) product += row[i] * found.row(b)[i];
        for (int64_t i = 0; i < width; ++i) row[i] -= product * found.row(b)[i];
      }
    double squares = 0;
    for (double x : row) squares += x * x;
    for (int64_t i = 0; i < width; ++i)
      out.row(i)[a] = found.row(a)[i] = static_cast<float>(row[i] / std::sqrt(squares));
  }
  return out;
}

void check_like_a_scan(const Rows& queries, const Rows& prototypes, const CentroidOptions& options) {
  const Answers wanted = rank_by_centroids(queries.view(), prototypes.view(), options, 1);
  const Rows directions = some_directions(prototypes.width, (prototypes.width + 2) / 3, 20);
  for (const DenseView& some : {DenseView{}, directions.view()})
    for (int n_threads : {1, 3}) {
      const PrototypeIndex index(prototypes.view(), {{}, some}, n_threads);
      CHECK(same(index.topk(queries.view(), options, n_threads), wanted));
      // All clusters are probed, or none is worth it.
      const PrototypeIndex clustered(prototypes.view(), {by_turns(prototypes.n, 7), some}, n_threads);
      CHECK(same(clustered.topk(queries.view(), options, n_threads), wanted));
      const std::vector<int64_t> needed(queries.n, options.k);
      for (int64_t probes : {int64_t{7}, std::numeric_limits<int64_t>::max()})
        CHECK(same(clustered.topk_of_clusters(queries.view(), options, probes, needed, n_threads), wanted));
    }
}

constexpr float kNoLeast = -std::numeric_limits<float>::infinity();

}  // namespace

TEST(an_index_of_prototypes_answers_as_a_scan_of_them_does) {
  for (int64_t width : {1, 7, 16, 33, 384})
    for (int64_t n_labels : {1, 63, 64, 5000})
      for (int64_t k : {int64_t{1}, int64_t{10}, n_labels})
        check_like_a_scan(unit_rows(11, width, 1), unit_rows(n_labels, width, 2),
                          {std::min(k, n_labels), kNoLeast, {}});
}

TEST(an_index_of_prototypes_keeps_limits) {
  const Rows queries = unit_rows(9, 24, 3), prototypes = unit_rows(700, 24, 4);
  std::vector<uint8_t> most(700, 1), few(700, 0);
  for (size_t i = 0; i < most.size(); i += 3) most[i] = 0;
  for (size_t i = 5; i < few.size(); i += 100) few[i] = 1;
  for (float least : {kNoLeast, 0.1f, 0.4f, 2.0f})
    for (const auto& allowed : {std::vector<uint8_t>{}, most, few, std::vector<uint8_t>(700, 0)})
      check_like_a_scan(queries, prototypes, {10, least, allowed});
}

TEST(prototypes_that_bytes_cannot_tell_apart_are_told_apart) {
  Rows prototypes = unit_rows(400, 32, 5);
  for (int64_t i = 1; i < 200; ++i) {  // the same but for the last bits, and every second one the same
    std::copy_n(prototypes.row(0), 32, prototypes.row(i));
    prototypes.row(i)[i / 2 % 32] *= 1 + 0x1p-22f * static_cast<float>(i / 2 % 5);
  }
  check_like_a_scan(prototypes, prototypes, {50, kNoLeast, {}});
}

TEST(numbers_of_any_size_are_answered_as_by_a_scan) {
  const float huge = 3e38f, tiny = 1e-40f, nan = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  for (float strange : {huge, tiny, 0.0f, nan, infinite, 1e-17f, 1e-13f, 1e14f, 1e17f}) {
    Rows queries = unit_rows(6, 20, 6), prototypes = unit_rows(300, 20, 7);
    for (int64_t i = 0; i < 20; ++i) queries.row(2)[i] *= strange, prototypes.row(40)[i] *= strange;
    prototypes.row(100)[3] = strange;
    check_like_a_scan(queries, prototypes, {8, kNoLeast, {}});
    for (float& x : queries.values) x *= strange;
    for (float& x : prototypes.values) x *= strange;
    check_like_a_scan(queries, prototypes, {8, kNoLeast, {}});
  }
}

TEST(few_prototypes_are_looked_at_beside_their_codes) {
  const Rows queries = unit_rows(20, 384, 8), prototypes = unit_rows(20000, 384, 9);
  int64_t n_rescored = 0;
  PrototypeIndex(prototypes.view(), {}, 1).topk(queries.view(), {10, kNoLeast, {}}, 1, &n_rescored);
  CHECK(n_rescored >= 20 * 10 && n_rescored < 20 * 60);
}

TEST(directions_that_have_most_of_the_length_leave_few_labels_to_look_at) {
  const Rows directions = some_directions(384, 32, 21);
  const auto along = [&](int64_t n, uint32_t seed) {  // a tenth of the squared length lies elsewhere
    Rows out = unit_rows(n, 384, seed);
    const Rows parts = unit_rows(n, 32, seed + 1);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < 384; ++j) {
        out.row(i)[j] *= 0.32f;
        for (int64_t d = 0; d < 32; ++d) out.row(i)[j] += 0.95f * parts.view().row(i)[d] * directions.view().row(j)[d];
      }
    return out;
  };
  const Rows queries = along(10, 22), prototypes = along(20000, 24);
  int64_t n_rescored = 0;
  const Answers found = PrototypeIndex(prototypes.view(), {{}, directions.view()}, 1)
                            .topk(queries.view(), {10, kNoLeast, {}}, 1, &n_rescored);
  CHECK(same(found, rank_by_centroids(queries.view(), prototypes.view(), {10, kNoLeast, {}}, 1)));
  CHECK(n_rescored >= 10 * 10 && n_rescored < 10 * 100);
}

TEST(directions_at_no_right_angles_are_refused) {
  const Rows prototypes = unit_rows(50, 24, 25);
  Rows directions = some_directions(24, 6, 26);
  for (int64_t i = 0; i < 24; ++i) directions.row(i)[3] += 0.01f * directions.row(i)[4];
  const IndexParts parts{{}, directions.view()};
  CHECK_THROWS(PrototypeIndex(prototypes.view(), parts, 1), Error);
}

TEST(probed_clusters_give_the_best_of_their_own_labels) {
  const Rows queries = unit_rows(9, 24, 11), prototypes = unit_rows(900, 24, 12),
             directions = some_directions(24, 7, 27);
  const auto clusters = by_turns(900, 30);
  for (int64_t probes : {1, 4, 29})
    for (int n_threads : {1, 3}) {
      const PrototypeIndex index(prototypes.view(), {clusters, n_threads == 1 ? directions.view() : DenseView{}},
                                 n_threads);
      const Answers found = index.topk_of_clusters(queries.view(), {10, kNoLeast, {}}, probes,
                                                   std::vector<int64_t>(queries.n, 10), n_threads);
      for (int64_t i = 0; i < queries.n; ++i) {
        // The clusters by the cosine of their sum with the query, as plainly as can be.
        std::vector<double> sums(30 * 24);
        for (int64_t label = 0; label < 900; ++label)
          for (int64_t j = 0; j < 24; ++j) sums[clusters[2 * label] * 24 + j] += prototypes.view().row(label)[j];
        std::vector<std::pair<double, int32_t>> order(30);
        for (int32_t c = 0; c < 30; ++c) {
          double product = 0, squares = 0;
          for (int64_t j = 0; j < 24; ++j)
            product += sums[c * 24 + j] * queries.view().row(i)[j], squares += sums[c * 24 + j] * sums[c * 24 + j];
          order[c] = {-product / std::sqrt(squares), c};
        }
        std::sort(order.begin(), order.end());
        std::vector<uint8_t> allowed(900, 0);
        for (int64_t label = 0; label < 900; ++label)
          for (int64_t p = 0; p < probes; ++p)
            allowed[label] |= clusters[2 * label] == order[p].second || clusters[2 * label + 1] == order[p].second;
        const Answers wanted =
            rank_by_centroids({queries.view().row(i), 1, 24}, prototypes.view(), {10, kNoLeast, allowed}, 1);
        for (int64_t j = 0; j < 10; ++j)
          CHECK(found.ids[i * 10 + j] == wanted.ids[j] && found.scores[i * 10 + j] == wanted.scores[j]);
      }
    }
}

TEST(probed_clusters_without_enough_answers_are_not_all_that_is_looked_at) {
  const Rows queries = unit_rows(9, 24, 13), prototypes = unit_rows(300, 24, 14);
  const PrototypeIndex index(prototypes.view(), {by_turns(300, 60), {}}, 2);
  std::vector<uint8_t> some(300, 1);
  for (int64_t label = 0; label < 300; ++label)
    some[label] = label % 60 > 20;  // all own labels of some clusters are barred
  for (const auto& [k, allowed] : {std::pair{int64_t{60}, std::vector<uint8_t>{}},
                                   std::pair{int64_t{300}, std::vector<uint8_t>{}}, std::pair{int64_t{300}, some}}) {
    const CentroidOptions options{k, kNoLeast, allowed};
    const Answers all = rank_by_centroids(queries.view(), prototypes.view(), options, 1);
    std::vector<int64_t> needed(queries.n, k);
    CHECK(same(index.topk_of_clusters(queries.view(), options, 1, needed, 2), all));
    needed[4] = 1;  // one query needs no more than its cluster has, and the others do not care
    const Answers found = index.topk_of_clusters(queries.view(), options, 1, needed, 2);
    for (int64_t i = 0; i < queries.n; ++i)
      CHECK((std::memcmp(found.ids.data() + i * k, all.ids.data() + i * k, k * sizeof(int32_t)) == 0) == (i != 4));
  }
}

TEST(clusters_without_labels_are_passed_over) {
  const Rows queries = unit_rows(50, 8, 15), prototypes = unit_rows(400, 8, 16);
  const auto clusters = by_turns(400, 20);
  auto apart = clusters;
  for (int32_t& cluster : apart) cluster = 7 + 3 * cluster;
  const std::vector<int64_t> needed(queries.n, 4);
  for (int64_t probes : {1, 5, 19, 20})
    CHECK(same(PrototypeIndex(prototypes.view(), {clusters, {}}, 1)
                   .topk_of_clusters(queries.view(), {4, kNoLeast, {}}, probes, needed, 1),
               PrototypeIndex(prototypes.view(), {apart, {}}, 1)
                   .topk_of_clusters(queries.view(), {4, kNoLeast, {}}, probes, needed, 1)));
}

TEST(products_of_codes_are_the_same_at_every_simd_level) {
  std::mt19937 random(10);
  size_t count;
  const simd::Kernels* const* levels = simd::runnable(count);
  for (size_t width : {1, 31, 64, 384, 1000}) {
    std::vector<int8_t> codes(5 * width);
    std::vector<int16_t> query(width);
    for (int8_t& c : codes) c = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    for (int16_t& q : query) q = static_cast<int16_t>(static_cast<int>(random() % 32000) - 16000);
    for (size_t l = 0; l < count; ++l) {
      int32_t products[5];
      levels[l]->code_products(codes.data(), query.data(), width, 5, products);
      for (size_t row = 0; row < 5; ++row) {
        int64_t wanted = 0;
        for (size_t i = 0; i < width; ++i) wanted += codes[row * width + i] * query[i];
        CHECK(products[row] == wanted);
      }
    }
  }
}

TEST(the_smallest_numbers_are_answered_as_by_a_scan) {
  constexpr float d = std::numeric_limits<float>::denorm_min();
  check_like_a_scan({{1e14f, 0.7e14f}, 1, 2}, {{d, d, 3 * d, -2 * d}, 2, 2}, {1, kNoLeast, {}});
}
