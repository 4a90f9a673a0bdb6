#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/microbench/core/coordination.hpp"
#include "calibration/microbench/distributed/processes/launch.hpp"
#include "calibration/microbench/distributed/processes/meeting.hpp"

namespace packsim::microbench {

/// What the processes of a run tell each other, beside what Coordination has. This class is the run of a
/// single process.
///
/// Every call may throw std::runtime_error that names the process that ended, failed or fell silent, and
/// then does so on all processes; from then on every call throws the same.
class ControlChannel : public Coordination {
 public:
  /// What every process gave, by rank; the same for all.
  virtual std::vector<std::string> gather(std::string_view mine) { return {std::string(mine)}; }
  /// Throws when another process has ended or failed. Does not wait: for loops that wait for a GPU, which
  /// would wait for ever for the part of a process that is gone.
  virtual void check() {}
  /// Tells the others why this process ends. Never throws, and may be called at any time.
  virtual void give_up(std::string_view /*reason*/) noexcept {}
};

/// Brings the processes of the launch together over TCP. Throws std::runtime_error when that fails within
/// options.meeting_s, std::invalid_argument when nothing says where process 0 is.
std::unique_ptr<ControlChannel> make_coordination(const Launch& launch, const ChannelOptions& options = {});

}  // namespace packsim::microbench
