#pragma once

#include <array>
#include <vector>

#include "sim/engine/op_engine.hpp"

namespace packsim {

using TimeByCause = std::array<SimTime, kNCauses>;

/// Where the time of a stream went. All adds up to the time of the run.
struct StreamAccount {
  TimeByCause busy{};    ///< in local operations, and in collectives that have started
  SimTime rendezvous;    ///< in collectives, until the last participant came
  SimTime dependencies;  ///< before an operation, for what it waits for on other streams
  SimTime done;          ///< behind the last operation, or all of it where there is none
};

/// Where the time of a rank's compute stream went. All adds up to the time of the run.
///
/// Time in which it runs no local operation has a reason, found by going back from the end of the gap: in a
/// collective on the stream itself, or in the operation that the next one waited for until its end, the last
/// to end of all that it waited for (its own stream's first, then the first named). That operation's own
/// transfer, or its duration on a communication stream, is exposed. Before it started it waited for the other
/// participants, which is idle, and before that for an operation of its own, and so on until the gap begins.
/// Where that comes to local work on a compute stream, which is another rank's, the rest of the gap is idle.
/// Behind the stream's last operation the rank is exposed until the end of its last communication, by the
/// same rule, and then idle.
struct RankAccount {
  TimeByCause busy{};     ///< in local operations
  TimeByCause exposed{};  ///< communication that nothing hides, by the communication's cause
  SimTime idle;           ///< waiting for slower ranks, or nothing to do any more
};

/// Of one run. A rank without a compute stream counts as one whose compute stream is empty.
struct OpAccount {
  std::vector<StreamAccount> streams;  ///< [n_streams]
  std::vector<RankAccount> ranks;      ///< [n_ranks]
};

/// The account of the engine's latest run, which was of this graph. Written over `account`, whose memory is
/// used again.
void take_account(const OpGraph& graph, const OpEngine& engine, OpAccount& account);

}  // namespace packsim
