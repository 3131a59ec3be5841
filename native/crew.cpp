#include "crew.h"

#include <thread>
#include <utility>

#include "parallel.h"

namespace labelwood {
namespace {

constexpr int kPauses = 500;  // some microseconds, after which the processor is offered to others

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
    if (worker != 0) return crew.follow();
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
  const uint64_t loop = (state_.load() >> (2 * kBits)) + 1;
  state_.store(loop << (2 * kBits) | static_cast<uint64_t>(n) << kBits);
  for (int number; take(number);) work(number);
  for (int pauses = 0; done_.load() < n;) wait_a_little(pauses);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Crew::follow() {
  int pauses = 0;
  for (int number; !over_;) {
    if (take(number)) {
      work(number);
      pauses = 0;
    } else {
      wait_a_little(pauses);
    }
  }
}

bool Crew::take(int& number) {
  uint64_t state = state_.load();
  while ((state & kMask) < (state >> kBits & kMask))
    if (state_.compare_exchange_weak(state, state + 1)) {
      number = static_cast<int>(state & kMask);
      return true;
    }
  return false;
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
