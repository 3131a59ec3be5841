#include "check.h"
#include "crew.h"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

using labelwood::Crew;

TEST(every_task_of_many_short_loops_runs_once) {
  for (int threads : {1, 2, 8}) {
    std::vector<int> counts(100);
    Crew::with(threads, [&](Crew& crew) {
      for (int loop = 0; loop < 1000; ++loop) crew.each(100, [&](int task) { ++counts[task]; });
    });
    for (int count : counts) CHECK(count == 1000);
  }
}

TEST(a_loop_is_over_before_the_next_begins) {
  std::vector<int> values(64);
  Crew::with(4, [&](Crew& crew) {
    for (int loop = 0; loop < 500; ++loop) {
      crew.each(64, [&](int task) { values[task] = loop; });
      CHECK(std::accumulate(values.begin(), values.end(), 0) == 64 * loop);
    }
  });
}

TEST(an_exception_of_a_task_reaches_the_leader_and_the_crew_goes_on) {
  std::atomic<int> done = 0;
  bool caught = false;
  Crew::with(4, [&](Crew& crew) {
    try {
      crew.each(10, [&](int task) {
        ++done;
        if (task == 3) throw std::runtime_error("three");
      });
    } catch (const std::runtime_error&) {
      caught = true;
    }
    crew.each(5, [&](int) { ++done; });
  });
  CHECK(caught);
  CHECK(done == 15);
}

TEST(an_exception_of_the_leader_ends_the_crew) {
  bool caught = false;
  try {
    Crew::with(4, [](Crew&) { throw std::runtime_error("over"); });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  CHECK(caught);
}
