// Threads that work on many short loops, one right after the other, and stay awake between them.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace labelwood {

class Crew {
 public:
  // Calls lead(crew) on this thread, with up to n_threads − 1 others at hand until it returns.
  static void with(int n_threads, const std::function<void(Crew&)>& lead);

  int size() const { return size_; }

  // Runs task(0) … task(n − 1), in any order, and waits for all. Only the leading thread calls it. An exception of a task is
  // thrown again here. Whether the others come to help at all decides nothing but the time it takes.
  void each(int n, const std::function<void(int)>& task);

 private:
  // One number says which loop is on, how many tasks it has and which is next, so that taking a task is one exchange and
  // can never take one of an older loop.
  static constexpr int kBits = 20;
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;

  explicit Crew(int size) : size_(size) {}
  void follow();
  bool take(int& number);
  void work(int number);

  const int size_;
  std::atomic<uint64_t> state_{0};
  std::atomic<int> done_{0};
  std::atomic<bool> over_{false};
  const std::function<void(int)>* task_ = nullptr;
  std::mutex failing_;
  std::exception_ptr error_;
};

}  // namespace labelwood
