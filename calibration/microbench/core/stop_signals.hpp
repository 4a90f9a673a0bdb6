#pragma once

namespace packsim::microbench {

/// While it lives, the first SIGINT or SIGTERM asks the run to stop after the current sample; a second one
/// ends the process at once, as it would without. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static bool asked();
};

}  // namespace packsim::microbench
