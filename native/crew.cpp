#include "crew.h"

#include <thread>
#include <utility>

#include "parallel.h"

namespace labelwood {
namespace {

constexpr int kPauses = 500;     // some microseconds, after which the processor is offered to others
constexpr int kPatience = 2000;  // pauses before the leader takes over the tasks that no helper took

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void wait_a_little(int& pauses) {
  if (++pauses < kPauses) {
    pause();
  } else {
    std::this_thread::yield();
  }
}

}  // namespace

void Crew::with(int n_threads, const std::function<void(Crew&)>& lead) {
  Crew crew(n_threads);
  parallel_for(n_threads, 1, n_threads, [&](int64_t, int64_t, int worker) {
    if (worker != 0) return crew.follow(worker);
    if (crew.over_) return;  // the leading thread comes again for places that nobody has taken
    try {
      lead(crew);
    } catch (...) {
      crew.over_ = true;
      throw;
    }
    crew.over_ = true;
  });
}

void Crew::each(int n, const std::function<void(int)>& task) {
  task_ = &task;
  done_ = 0;
  const uint64_t loop = (loop_.load() / (kMost + 1) + 1) * (kMost + 1) + n;
  loop_ = loop;
  work_through(0, loop);
  int others = n - (n + size_ - 1) / size_;  // tasks that are not the leader's
  for (int pauses = 0; done_.load() < n;) {
    if (pauses < patience_) {
      wait_a_little(pauses);
      continue;
    }
    for (int number = 0; number < n; ++number)
      if (take(number, static_cast<uint32_t>(loop / (kMost + 1)))) work(number), --others;
    pauses = 0;
  }
  // If no helper took a task in this loop, the next loop does not wait for them.
  patience_ = size_ > 1 && others > 0 ? kPatience : 0;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Crew::follow(int worker) {
  uint64_t last = 0;
  for (int pauses = 0; !over_;) {
    const uint64_t loop = loop_.load();
    if (loop == last) {
      wait_a_little(pauses);
      continue;
    }
    work_through(worker, last = loop);
    pauses = 0;
  }
}

void Crew::work_through(int worker, uint64_t loop) {
  for (int number = worker; number < static_cast<int>(loop % (kMost + 1)); number += size_)
    if (take(number, static_cast<uint32_t>(loop / (kMost + 1)))) work(number);
}

// Loops are numbered upwards, so one that is over can no longer take a task of the next.
bool Crew::take(int number, uint32_t loop) {
  uint32_t taken = taken_[number].load();
  return taken < loop && taken_[number].compare_exchange_strong(taken, loop);
}

void Crew::work(int number) {
  try {
    (*task_)(number);
  } catch (...) {
    std::lock_guard lock(failing_);
    if (!error_) error_ = std::current_exception();
  }
  done_.fetch_add(1);
}

}  // namespace labelwood
