// Threads that work on many short loops, one right after the other, and stay awake between them.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace labelwood {

class Crew {
 public:
  // Calls lead(crew) on this thread, with up to n_threads − 1 others at hand until it returns.
  static void with(int n_threads, const std::function<void(Crew&)>& lead);

  int size() const { return size_; }

  // Runs task(0) … task(n − 1), n at most kMost, and waits for all. Only the leading thread calls it. Task i is meant
  // for thread i % size(), so that what it works on stays in that thread's cache from loop to loop; if that one does
  // not come, the leader does it after a while. An exception of a task is thrown again here.
  static constexpr int kMost = 1024;
  void each(int n, const std::function<void(int)>& task);

 private:
  explicit Crew(int size) : size_(size), taken_(kMost) {}
  void follow(int worker);
  void work_through(int worker, uint64_t loop);
  bool take(int number, uint32_t loop);
  void work(int number);

  const int size_;
  std::atomic<uint64_t> loop_{0};             // its number, and below that how many tasks it has
  std::vector<std::atomic<uint32_t>> taken_;  // of each task: the last loop in which somebody took it
  std::atomic<int> done_{0};
  std::atomic<bool> over_{false};
  int patience_ = 0;  // of the leader, for tasks of others
  const std::function<void(int)>* task_ = nullptr;
  std::mutex failing_;
  std::exception_ptr error_;
};

}  // namespace labelwood
