#include "packing/algorithms/sort_by_length.hpp"
#include "packing/strategies/strategies.hpp"

namespace packsim::strategies_detail {

PackSet sorted(const PackProblem& problem) {
  PackSet batches;
  batches.items = shortest_first(problem).items;
  const std::int64_t batch_samples = problem.options.batch_samples;
  std::int64_t n_rows = 0;
  std::int64_t n_tokens = 0;
  for (std::uint32_t i = 0; i < batches.items.size(); ++i) {
    const std::int64_t length = problem.lengths_tokens[batches.items[i]];
    // Lengths ascend, so the newest row is the longest and sets the padded size.
    const std::int64_t needed = problem.options.padded_batches ? (n_rows + 1) * length : n_tokens + length;
    const bool full = batch_samples > 0 ? n_rows == batch_samples : needed > problem.capacity_tokens;
    const bool own_batch = length > problem.capacity_tokens;
    if ((full || own_batch) && n_rows > 0) {
      batches.offsets.push_back(i);
      n_rows = 0;
      n_tokens = 0;
    }
    ++n_rows;
    n_tokens += length;
  }
  if (n_rows > 0) batches.close_pack();
  return batches;
}

}  // namespace packsim::strategies_detail
