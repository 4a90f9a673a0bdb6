#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/microbench/core/coordination.hpp"
#include "calibration/microbench/distributed/processes/launch.hpp"

namespace packsim::microbench {

/// What the processes of a run tell each other. This class is the run of a single process.
///
/// Every call may throw std::runtime_error that names the process that ended, failed or fell silent, and
/// then does so on all processes; from then on every call throws the same.
class ControlChannel : public Coordination {
 public:
  bool first_decides(bool mine) final { return exchange('F', mine ? "1" : "0").front() == "1"; }
  double largest(double mine) final;
  void barrier() final { exchange('B', ""); }
  /// What every process gave, by rank; the same for all.
  std::vector<std::string> gather(std::string_view mine) { return exchange('G', mine); }
  /// Throws when another process has ended or failed. Does not wait: for loops that wait for a GPU, which
  /// would wait for ever for the part of a process that is gone.
  virtual void check() {}
  /// Tells the others why this process ends. Never throws, and may be called at any time.
  virtual void give_up(std::string_view /*reason*/) noexcept {}

 private:
  /// Gives all processes what each of them gave. `kind` tells exchanges apart: processes that are at
  /// different ones have a mistake in the code in common.
  virtual std::vector<std::string> exchange(char /*kind*/, std::string_view mine) {
    return {std::string(mine)};
  }
};

struct ChannelOptions {
  double meeting_s = 120;  ///< for all processes to find each other
  double answer_s = 1800;  ///< for the slowest to come to the next exchange; one that ends is noticed at once
};

std::string host_name();

/// Brings the processes of the launch together over TCP. Throws std::runtime_error when that fails within
/// options.meeting_s. Process 0 turns away whoever connects without the greeting of this run.
std::unique_ptr<ControlChannel> make_coordination(const Launch& launch, const ChannelOptions& options = {});

}  // namespace packsim::microbench
