#pragma once

#include <cstdint>

namespace packsim {

/// How finely a step is simulated. If no transfers share links, both give the same times.
enum class StepDetail : std::uint8_t {
  /// All that a rank does between two points at which it waits for others is one operation, including waits
  /// inside the rank.
  micro_batches,
  /// Every run of kernels and every exchange is an operation of its own.
  stages,
};

}  // namespace packsim
