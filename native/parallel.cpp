#include "parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace labelwood {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kCheckEvery = std::chrono::milliseconds(50);

std::atomic<void (*)()> interrupt_check{nullptr};

// Asks for an interrupt, but not all the time.
void check_now_and_then() {
  thread_local auto last = Clock::now();
  auto* call = interrupt_check.load();
  if (call == nullptr || Clock::now() - last < kCheckEvery) return;
  last = Clock::now();
  call();
}

// Leaves a loop that has failed elsewhere.
struct Stopped {};

// One parallel_for call.
struct Job {
  Job(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t, int)>& body)
      : n(n), grain(grain), body(&body) {}

  int64_t n, grain;
  const std::function<void(int64_t, int64_t, int)>* body;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  int running = 0;  // helpers inside work(), guarded by mutex
  std::exception_ptr error;

  // Takes chunks until none is left.
  void work(int worker, bool is_caller);

  void fail(std::exception_ptr e) {
    stop = true;
    std::lock_guard lock(mutex);
    if (!error) error = e;
  }
};

// The loops this thread is inside of.
struct Frame {
  Job* job;
  bool is_caller;
  Frame* outer;
};
thread_local Frame* innermost = nullptr;

void Job::work(int worker, bool is_caller) {
  Frame frame{this, is_caller, innermost};
  innermost = &frame;
  try {
    for (int64_t begin; !stop && (begin = next.fetch_add(grain)) < n;) {
      (*body)(begin, std::min(begin + grain, n), worker);
      poll_interrupt();
    }
  } catch (...) {
    fail(std::current_exception());
  }
  innermost = frame.outer;
}

struct Ticket {
  std::shared_ptr<Job> job;
  int worker;
};

class Pool {
 public:
  void run(const std::shared_ptr<Job>& job, int n_threads) {
    invite(job, n_threads - 1);
    job->work(0, true);
    withdraw(job);
    wait(job);
    if (job->error) std::rethrow_exception(job->error);  // no lock: nobody else is inside any more
  }

 private:
  void invite(const std::shared_ptr<Job>& job, int helpers) {
    std::lock_guard lock(mutex_);
    hire(helpers);
    for (int worker = 1; worker <= helpers; ++worker) tickets_.push_back({job, worker});
    wake_.notify_all();
  }

  // Where the system gives no more threads, those that are there do the work: the caller alone can finish it.
  void hire(int helpers) {
    try {
      for (; n_workers_ < helpers; ++n_workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {}
  }

  // Takes back the invitations nobody has followed: all chunks are taken.
  void withdraw(const std::shared_ptr<Job>& job) {
    std::lock_guard lock(mutex_);
    std::erase_if(tickets_, [&](const Ticket& t) { return t.job == job; });
  }

  static void wait(const std::shared_ptr<Job>& job) {
    for (std::unique_lock lock(job->mutex);
         !job->finished.wait_for(lock, kCheckEvery, [&] { return job->running == 0; });) {
      lock.unlock();
      try {
        check_now_and_then();
      } catch (...) {
        job->fail(std::current_exception());
      }
      lock.lock();
    }
  }

  void serve() {
    for (;;) {
      Ticket ticket;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !tickets_.empty(); });
        ticket = std::move(tickets_.front());
        tickets_.pop_front();
        // Counted under the pool's lock, so that withdraw() and wait() cannot miss it.
        std::lock_guard job_lock(ticket.job->mutex);
        ++ticket.job->running;
      }
      ticket.job->work(ticket.worker, false);
      std::lock_guard job_lock(ticket.job->mutex);
      if (--ticket.job->running == 0) ticket.job->finished.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Ticket> tickets_;
  int n_workers_ = 0;
};

std::atomic<Pool*> the_pool{nullptr};

// A forked child has none of the parent's threads and perhaps a locked mutex: it starts with a new pool.
// Pools are never destroyed, because their detached threads may outlive static destructors.
void forget_pool() { the_pool = nullptr; }

Pool& pool() {
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
  (void)registered;
  Pool* current = the_pool.load();
  if (current != nullptr) return *current;
  Pool* fresh = new Pool;
  if (the_pool.compare_exchange_strong(current, fresh)) return *fresh;
  delete fresh;
  return *current;
}

}  // namespace

void parallel_for(int64_t n, int64_t grain, int n_threads, const std::function<void(int64_t, int64_t, int)>& body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = (n + grain - 1) / grain;
  if (n_threads <= 1 || chunks == 1) {
    Job job(n, grain, body);
    job.work(0, true);
    if (job.error) std::rethrow_exception(job.error);
  } else {
    pool().run(std::make_shared<Job>(n, grain, body), static_cast<int>(std::min<int64_t>(n_threads, chunks)));
  }
}

void poll_interrupt() {
  for (const Frame* frame = innermost; frame != nullptr; frame = frame->outer)
    if (frame->job->stop) throw Stopped{};
  if (innermost != nullptr && innermost->is_caller) check_now_and_then();
}

void set_interrupt_check(void (*check)()) { interrupt_check = check; }

}  // namespace labelwood
