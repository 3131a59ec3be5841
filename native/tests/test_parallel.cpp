#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "check.h"
#include "parallel.h"

using labelwood::parallel_for;

static int64_t sum_of_squares(int64_t n, int n_threads) {
  std::vector<int64_t> squares(n);
  parallel_for(n, 7, n_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) squares[i] = i * i;
  });
  return std::accumulate(squares.begin(), squares.end(), int64_t{0});
}

TEST(every_index_is_visited_once_for_any_number_of_threads) {
  for (int n_threads : {0, 1, 2, 8, 64})
    for (int64_t n : {0, 1, 6, 7, 8, 1000}) {
      std::vector<std::atomic<int>> visits(n);
      parallel_for(n, 7, n_threads, [&](int64_t begin, int64_t end, int worker) {
        CHECK(worker >= 0 && worker < std::max(n_threads, 1));
        for (int64_t i = begin; i < end; ++i) ++visits[i];
      });
      for (auto& count : visits) CHECK(count == 1);
    }
}

TEST(an_exception_in_a_worker_reaches_the_caller_and_the_pool_goes_on) {
  for (int repeat = 0; repeat < 20; ++repeat)
    CHECK_THROWS(parallel_for(1000, 1, 4,
                              [](int64_t begin, int64_t, int) {
                                if (begin == 500) throw std::out_of_range("here");
                              }),
                 std::out_of_range);
  CHECK(sum_of_squares(100, 4) == 328350);
}

TEST(loops_inside_loops_finish) {
  std::atomic<int64_t> total{0};
  parallel_for(16, 1, 8, [&](int64_t, int64_t, int) { total += sum_of_squares(100, 8); });
  CHECK(total == 16 * 328350);
}

TEST(several_threads_may_call_at_once) {
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) right += sum_of_squares(100, 4) == 328350;
    });
  for (auto& caller : callers) caller.join();
  CHECK(right == 8 * 50);
}

TEST(a_forked_child_gets_a_pool_of_its_own) {
  CHECK(sum_of_squares(1000, 4) == 332833500);
  const pid_t child = fork();
  if (child == 0) _exit(sum_of_squares(1000, 4) == 332833500 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

namespace {
struct Interrupted {};
void interrupt() { throw Interrupted{}; }
}  // namespace

TEST(the_interrupt_check_stops_a_long_loop) {
  labelwood::set_interrupt_check(interrupt);
  std::atomic<int> chunks{0};
  CHECK_THROWS(parallel_for(100000, 1, 2,
                            [&](int64_t, int64_t, int) {
                              ++chunks;
                              std::this_thread::sleep_for(std::chrono::milliseconds(5));
                            }),
               Interrupted);
  labelwood::set_interrupt_check(nullptr);
  CHECK(chunks < 1000);
}

TEST(a_long_chunk_can_be_interrupted_from_within) {
  labelwood::set_interrupt_check(interrupt);
  int turns = 0;
  CHECK_THROWS(parallel_for(1, 1, 1,
                            [&](int64_t, int64_t, int) {
                              for (; turns < 10000; ++turns) {
                                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                labelwood::poll_interrupt();
                              }
                            }),
               Interrupted);
  labelwood::set_interrupt_check(nullptr);
  CHECK(turns < 1000);
}

TEST(a_failure_ends_loops_inside_other_workers_chunks) {
  std::atomic<int> turns{0};
  CHECK_THROWS(parallel_for(2, 1, 2,
                            [&](int64_t begin, int64_t, int) {
                              std::this_thread::sleep_for(std::chrono::milliseconds(20));
                              if (begin == 1) throw std::out_of_range("here");
                              parallel_for(1000, 1, 1, [&](int64_t, int64_t, int) {
                                ++turns;
                                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                              });
                            }),
               std::out_of_range);
  CHECK(turns < 1000);
}
