#pragma once

namespace packsim_test {

/// How many of n random trials a test does: under a sanitizer one in ten, as each takes several times as
/// long.
constexpr int trials(int n) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return n / 10;
#else
  return n;
#endif
}

}  // namespace packsim_test
