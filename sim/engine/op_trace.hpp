#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/op_engine.hpp"

namespace packsim {

/// One operation as it ran, with all that a timeline shows of it.
struct TracedOp {
  std::uint32_t rank = 0;
  StreamId stream = 0;
  StreamKind stream_kind = StreamKind::compute;
  Cause cause = Cause::linear;
  CollectiveId collective = Op::kLocal;
  SimTime start;
  SimTime transfer_start;  ///< when a collective's last participant had come; else equal to `start`
  SimTime end;

  bool operator==(const TracedOp&) const = default;
};

/// Adds the engine's latest run, which was of this graph, to the end of a trace: in order of OpId, so that
/// the operations of a stream come in the order in which they ran.
void trace(const OpGraph& graph, const OpEngine& engine, std::vector<TracedOp>& traced);

}  // namespace packsim
