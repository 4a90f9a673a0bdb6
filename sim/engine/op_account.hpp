#pragma once

#include <array>
#include <vector>

#include "sim/engine/op_engine.hpp"

namespace packsim {

using TimeByCause = std::array<SimTime, kNCauses>;

/// Where the time of a rank's compute stream went. The parts add up to the time of the run.
///
/// Each gap, a time in which the stream runs no local operation, is attributed backwards from its end. If the
/// stream itself is in a collective, the attribution begins with that; otherwise with the operation that the
/// stream's next operation waited for last. (If several ended last, the one on the stream itself counts, then
/// the one that was named first.) The transfer of that operation, or its duration on a communication stream,
/// is exposed. Before its transfer it waited for the other participants, which is idle time. Before that it
/// waited for an earlier operation, which is treated in the same way, and so on until the gap begins. If that
/// leads to local work on the compute stream of another rank, the rest of the gap is idle.
///
/// After the stream's last operation, the time until the end of the rank's last communication is attributed
/// by the same rule; after that the rank is idle.
struct RankAccount {
  TimeByCause busy{};     ///< in local operations
  TimeByCause exposed{};  ///< communication that nothing hides, by the communication's cause
  SimTime idle;           ///< waiting for slower ranks, or without work at the end
};

/// The accounts of one run. A rank without a compute stream counts as one with an empty compute stream.
struct OpAccount {
  std::vector<RankAccount> ranks;  ///< [n_ranks]
};

/// Writes the account of the engine's latest run, which must have been of this graph, to `account`, and uses
/// its memory again.
void take_account(const OpGraph& graph, const OpEngine& engine, OpAccount& account);

}  // namespace packsim
