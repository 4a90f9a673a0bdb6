#pragma once

#include "sim/engine/op_engine.hpp"

namespace packsim {

/// When the last operation ends, without contention.
inline SimTime run(const OpGraph& graph, double slow_down = 1) {
  return OpEngine{}.run(graph, nullptr, {slow_down}, {});
}

}  // namespace packsim
