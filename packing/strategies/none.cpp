#include "packing/algorithms/item_order.hpp"
#include "packing/strategies/strategies.hpp"

namespace packsim::strategies_detail {

PackSet none(const PackProblem& problem) {
  PackSet batches;
  batches.items = packing_order(problem);
  std::int64_t n_rows = 0;
  bool last_is_over_long = false;
  for (std::uint32_t i = 0; i < batches.items.size(); ++i) {
    const bool over_long = problem.lengths_tokens[batches.items[i]] > problem.capacity_tokens;
    const bool own_batch = over_long || last_is_over_long;
    if (n_rows > 0 && (own_batch || n_rows >= problem.options.batch_samples)) {
      batches.offsets.push_back(i);
      n_rows = 0;
    }
    ++n_rows;
    last_is_over_long = over_long;
  }
  if (n_rows > 0) batches.close_pack();
  return batches;
}

}  // namespace packsim::strategies_detail
