#pragma once

#include <vector>

#include "calibration/fit/steps/measured_step.hpp"

namespace packsim {

struct FrameworkMemoryFit {
  FittedNumber reserved_bytes = {.name = "reserved_bytes"};
  FittedNumber logits_bytes_per_vocab_entry = {.name = "logits_bytes_per_vocab_entry"};
  bool is_measured = false;  ///< two steps or more with a measured peak; else both numbers are 0
};

/// Least squares on measured peaks, neither number under 0. Peaks are at the loss or elsewhere, by the
/// numbers themselves.
FrameworkMemoryFit fit_framework_memory(const std::vector<const MeasuredStep*>& steps);

}  // namespace packsim
