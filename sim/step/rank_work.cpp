#include "sim/step/rank_work.hpp"

namespace packsim {

PricedPlan price_plan(StepPricer& pricer) {
  PricedPlan priced;
  priced.plan = pricer.plan();
  priced.sends_in_node = pricer.sends_in_node();
  for (int chunk = 0; chunk < pricer.plan().n_chunks(); ++chunk) {
    priced.chunks.push_back(pricer.chunk(chunk));
    priced.states.push_back(pricer.states(chunk));
  }
  return priced;
}

}  // namespace packsim
