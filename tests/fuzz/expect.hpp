#pragma once

#include <cstdio>
#include <cstdlib>

namespace packsim::testing {

/// Ends the program, and with it the fuzzer, where a promise does not hold.
inline void expect(bool is_true, const char* promise) {
  if (is_true) return;
  std::fprintf(stderr, "a promise does not hold: %s\n", promise);
  std::abort();
}

}  // namespace packsim::testing
