// A test is a function; a check that fails throws. Enough for us, and no dependency for those who build from source.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace labelwood::testing {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Register {
  Register(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

}  // namespace labelwood::testing

#define TEST(name)                                                        \
  static void name();                                                     \
  static const labelwood::testing::Register register_##name{#name, name}; \
  static void name()

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) {                                        \
      std::ostringstream where;                                \
      where << __FILE__ << ":" << __LINE__ << ": " #condition; \
      throw std::runtime_error(where.str());                   \
    }                                                          \
  } while (false)

#define CHECK_THROWS(expression, type) \
  do {                                 \
    bool thrown = false;               \
    try {                              \
      expression;                      \
    } catch (const type&) {            \
      thrown = true;                   \
    }                                  \
    CHECK(thrown && #type);            \
  } while (false)
