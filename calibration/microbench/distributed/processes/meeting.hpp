#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/microbench/distributed/processes/connection.hpp"
#include "calibration/microbench/distributed/processes/launch.hpp"

namespace packsim::microbench {

/// Two programs with different numbers do not talk to each other.
inline constexpr std::uint32_t kChannelVersion = 1;

struct ChannelOptions {
  double meeting_s = 120;  ///< for all processes to find each other
  double answer_s = 1800;  ///< for the slowest to come to the next exchange; one that ends is noticed at once
  std::string meeting_file = {};  ///< on a file system that all nodes share; used where no host is known
  std::uint32_t version = kChannelVersion;
};

/// A process of the run, as process 0 sees it.
struct Member {
  Connection connection;
  std::string host;
};

/// Process 0: waits for all others. [n_ranks]; its own place has no connection. Whoever connects without the
/// right greeting is turned away. Throws std::runtime_error that names who did not come in time.
std::vector<Member> welcome_all(const Launch& launch, const ChannelOptions& options);

/// Any other process: connects to process 0 and returns when all have come. Throws std::runtime_error.
Connection join(const Launch& launch, const ChannelOptions& options);

std::string host_name();

}  // namespace packsim::microbench
