#include "scenarios/scenario.hpp"

namespace packsim {

ParallelPlan group_plan(const ParallelPlan& plan, const GroupSpec& group, int gc_layers) {
  ParallelPlan own = plan;
  own.sequence = group.sequence;
  own.gc_layers = gc_layers;
  return own;
}

}  // namespace packsim
