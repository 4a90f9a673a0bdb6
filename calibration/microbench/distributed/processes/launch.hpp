#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace packsim::microbench {

/// The value of an environment variable, if it is set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

/// How this program was started: by what, as which of how many processes, and where process 0 is.
struct Launch {
  std::string launcher = "none";  ///< none, torchrun, open_mpi, pmi or slurm
  int rank = 0;
  int n_ranks = 1;
  std::optional<int> local_rank = {};     ///< among the processes of this node
  std::optional<int> n_local_ranks = {};  ///< processes of this node
  std::string job = {};                   ///< the same in all processes of a job; may be empty
  std::string first_host = {};            ///< where process 0 listens; empty: not known
  std::vector<std::uint16_t> ports = {};  ///< where it may listen: the first free one
};

struct LaunchOptions {
  std::string launcher = {};    ///< believe this one alone; empty: find it
  std::string first_host = {};  ///< HOST, HOST:PORT or [IPv6]:PORT; empty: find it
};

/// Reads the variables of torchrun, Open MPI, PMI (MPICH, Intel MPI) and Slurm, in this order; the first
/// that is there counts, as each may start the next. Throws std::invalid_argument that names every mistake:
/// variables that are half set, not numbers or out of range, and launchers that contradict each other.
Launch find_launch(const Environment& environment, const LaunchOptions& options = {});

}  // namespace packsim::microbench
