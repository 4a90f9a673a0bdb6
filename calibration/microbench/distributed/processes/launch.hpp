#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace packsim::microbench {

/// The value of an environment variable, if it is set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

/// How this program was started: by what, as which of how many processes, and where process 0 listens.
struct Launch {
  std::string launcher = "none";  ///< none, torchrun, open_mpi, pmi or slurm
  int rank = 0;
  int n_ranks = 1;
  std::string job = {};   ///< the same in all processes of a job; may be empty
  std::string host = {};  ///< of process 0
  std::uint16_t port = 0;
};

/// Reads the variables of torchrun, Open MPI, PMI (MPICH, Intel MPI) and Slurm, in this order; the first
/// that is there counts, as each may start the next. MASTER_ADDR and MASTER_PORT, which torchrun sets, say
/// where process 0 listens; without them it is this host where all processes are, or the first host of a
/// Slurm step, and a port for each job. Throws std::invalid_argument that names every mistake: variables that
/// are half set, not numbers or out of range, launchers that contradict each other, and no host of process 0.
Launch find_launch(const Environment& environment);

}  // namespace packsim::microbench
