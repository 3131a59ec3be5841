#include <cstdio>
#include <exception>

#include "check.h"

int main() {
  int passed = 0, failed = 0;
  for (const auto& test : labelwood::testing::tests()) {
    try {
      test.run();
      ++passed;
    } catch (const std::exception& e) {
      ++failed;
      std::printf("FAILED %s: %s\n", test.name, e.what());
    }
  }
  std::printf("native: %d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
