#pragma once

#include <chrono>
#include <optional>

namespace packsim {

/// Says when a search has taken as long by the clock as it may.
class TimeLimit {
 public:
  /// limit_s: from now; none: as long as it takes.
  explicit TimeLimit(std::optional<double> limit_s)
      : limit_s_(limit_s), start_(std::chrono::steady_clock::now()) {}

  bool is_over() const {
    if (!limit_s_) return false;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() >= *limit_s_;
  }

 private:
  std::optional<double> limit_s_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace packsim
