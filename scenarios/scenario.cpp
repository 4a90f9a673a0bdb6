#include "scenarios/scenario.hpp"

namespace packsim {

ParallelPlan group_plan(const ParallelPlan& plan, const GroupSpec& group, int gc_layers) {
  ParallelPlan own = plan;
  own.sp_degree = group.sp_degree;
  own.cp_degree = group.cp_degree;
  own.gc_layers = gc_layers;
  return own;
}

}  // namespace packsim
