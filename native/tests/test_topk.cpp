#include "topk.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.h"

using labelwood::better;
using labelwood::Scored;
using labelwood::TopK;

namespace {

std::vector<int32_t> ids_of(TopK<float>& top) {
  std::vector<int32_t> ids;
  for (const auto& pair : top.sorted()) ids.push_back(pair.id);
  return ids;
}

}  // namespace

TEST(the_best_come_first_and_ties_are_ordered_by_ascending_id) {
  TopK<float> top(3);
  top.offer(0.5f, 9);
  top.offer(0.5f, 2);
  top.offer(0.1f, 0);
  top.offer(0.5f, 4);
  top.offer(0.7f, 7);
  CHECK((ids_of(top) == std::vector<int32_t>{7, 2, 4}));
}

TEST(the_order_of_the_offers_does_not_matter) {
  std::mt19937 random(1);
  std::vector<Scored<float>> pairs;
  for (int32_t id = 0; id < 200; ++id) pairs.push_back({static_cast<float>(random() % 20), id});
  std::vector<Scored<float>> wanted = pairs;
  std::sort(wanted.begin(), wanted.end(), better<float>);
  TopK<float> top(17);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::shuffle(pairs.begin(), pairs.end(), random);
    top.clear();
    for (const auto& pair : pairs) top.offer(pair.score, pair.id);
    const auto ids = ids_of(top);
    CHECK(ids.size() == 17);
    for (size_t i = 0; i < ids.size(); ++i) CHECK(ids[i] == wanted[i].id);
  }
}

TEST(fewer_offers_than_k_are_all_kept) {
  TopK<float> top(5);
  top.offer(-std::numeric_limits<float>::infinity(), 3);
  top.offer(0.0f, 1);
  CHECK(!top.full());
  CHECK((ids_of(top) == std::vector<int32_t>{1, 3}));
}

TEST(nan_is_never_kept_and_k_zero_keeps_nothing) {
  TopK<float> top(2), none(0);
  top.offer(std::nanf(""), 1);
  none.offer(1.0f, 1);
  CHECK(top.size() == 0 && none.size() == 0);
}

TEST(takes_foretells_what_offer_keeps) {
  TopK<float> top(1);
  CHECK(top.takes(0.0f, 5));
  top.offer(0.5f, 5);
  CHECK(top.worst().id == 5);
  CHECK(!top.takes(0.5f, 6) && top.takes(0.5f, 4) && top.takes(0.6f, 6) && !top.takes(0.4f, 0));
}
