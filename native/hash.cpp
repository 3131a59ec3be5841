#include "hash.h"

#include <chrono>
#include <exception>
#include <random>

namespace labelwood::hashing {
namespace {

uint64_t drawn(std::random_device& source) { return static_cast<uint64_t>(source()) << 32 | source(); }

Secrets draw() {
  try {
    std::random_device source;
    return {drawn(source), drawn(source), drawn(source), drawn(source) | 1};
  } catch (const std::exception&) {  // the system gives no random numbers: where we lie in memory, and the time
    const auto time = static_cast<uint64_t>(std::chrono::high_resolution_clock::now().time_since_epoch().count());
    std::mt19937_64 numbers(time ^ reinterpret_cast<uintptr_t>(&secrets) * 0x9E3779B97F4A7C15u);
    return {numbers(), numbers(), numbers(), numbers() | 1};
  }
}

}  // namespace

const Secrets secrets = draw();

}  // namespace labelwood::hashing
