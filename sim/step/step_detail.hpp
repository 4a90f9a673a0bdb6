#pragma once

#include <cstdint>

namespace packsim {

/// How finely a step is simulated. Where nothing contends, both give the same times.
enum class StepDetail : std::uint8_t {
  micro_batches,  ///< what ranks do between two meetings is one operation, waits inside a rank included
  stages,         ///< every run of kernels and every exchange by itself
};

}  // namespace packsim
