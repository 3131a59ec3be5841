// Parallel loops on one pool of threads that survives fork and can be interrupted.
#pragma once
#include <cstdint>
#include <functional>

namespace labelwood {

// Runs body(begin, end, worker) over [0, n) in chunks of `grain`. Chunk borders depend on n and grain only, so a
// body that writes to places of its own gives the same result for any n_threads. `worker` < n_threads names the
// scratch space to use. The caller works too; a loop inside a loop therefore cannot deadlock. The first exception
// stops the loop and is thrown again here.
void parallel_for(int64_t n, int64_t grain, int n_threads,
                  const std::function<void(int64_t begin, int64_t end, int worker)>& body);

// For a body that works long on one chunk: throws where the loop is to end. Outside of a loop it does nothing.
void poll_interrupt();

// Called now and then on the thread that entered parallel_for; may throw to stop the loop (Ctrl-C).
void set_interrupt_check(void (*check)());

}  // namespace labelwood
