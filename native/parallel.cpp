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

// One parallel_for call.
struct Job {
  int64_t n, grain;
  const std::function<void(int64_t, int64_t, int)>* body;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  int running = 0;  // helpers inside work(), guarded by mutex
  std::exception_ptr error;

  // Takes chunks until none is left. `between` runs after each chunk.
  template <class Between>
  void work(int worker, Between between) {
    try {
      for (int64_t begin; !stop && (begin = next.fetch_add(grain)) < n;) {
        (*body)(begin, std::min(begin + grain, n), worker);
        between();
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void fail(std::exception_ptr e) {
    stop = true;
    std::lock_guard lock(mutex);
    if (!error) error = e;
  }
};

struct Ticket {
  std::shared_ptr<Job> job;
  int worker;
};

class Pool {
 public:
  void run(const std::shared_ptr<Job>& job, int n_threads) {
    if (n_threads > 1) invite(job, n_threads - 1);
    auto last_check = Clock::now();
    auto check = [&last_check] {
      auto* call = interrupt_check.load();
      if (call == nullptr || Clock::now() - last_check < kCheckEvery) return;
      last_check = Clock::now();
      call();
    };
    job->work(0, check);
    if (n_threads > 1) {
      withdraw(job);
      wait(job, check);
    }
    if (job->error) std::rethrow_exception(job->error);
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
    } catch (const std::system_error&) {
    }
  }

  // Takes back the invitations nobody has followed: all chunks are taken.
  void withdraw(const std::shared_ptr<Job>& job) {
    std::lock_guard lock(mutex_);
    std::erase_if(tickets_, [&](const Ticket& t) { return t.job == job; });
  }

  template <class Check>
  static void wait(const std::shared_ptr<Job>& job, Check check) {
    for (std::unique_lock lock(job->mutex); !job->finished.wait_for(lock, kCheckEvery, [&] { return job->running == 0; });) {
      lock.unlock();
      try {
        check();
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
      ticket.job->work(ticket.worker, [] {});
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
  auto job = std::make_shared<Job>();
  job->n = n;
  job->grain = std::max<int64_t>(grain, 1);
  job->body = &body;
  const int64_t chunks = (n + job->grain - 1) / job->grain;
  pool().run(job, static_cast<int>(std::clamp<int64_t>(n_threads, 1, chunks)));
}

void set_interrupt_check(void (*check)()) { interrupt_check = check; }

}  // namespace labelwood
