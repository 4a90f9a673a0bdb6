#include "sim/engine/op_trace.hpp"

namespace packsim {

void trace(const OpGraph& graph, const OpEngine& engine, std::vector<TracedOp>& traced) {
  for (OpId op = 0; op < graph.ops().size(); ++op) {
    const Op& what = graph.ops()[op];
    const OpGraph::Stream& stream = graph.streams()[what.stream];
    traced.push_back(
        {.rank = stream.rank,
         .stream = what.stream,
         .stream_kind = stream.kind,
         .cause = what.cause,
         .collective = what.collective,
         .start = engine.start(op),
         .transfer_start = what.is_local() ? engine.start(op) : engine.collective_start(what.collective),
         .end = engine.end(op)});
  }
}

}  // namespace packsim
