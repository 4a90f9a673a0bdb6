#include "experiment/results/iteration_sizes.hpp"

#include <algorithm>
#include <cmath>

namespace packsim {

bool IterationSizes::has_asked_least() const {
  const std::int64_t full_iterations = iterations - last_iterations;
  if (too_small <= last_iterations && 2 * counted_tokens >= full_iterations * size.asked_tokens) return true;
  const double capped = static_cast<double>(capped_tokens) / static_cast<double>(size.asked_tokens);
  const auto n = static_cast<double>(iterations);
  // In a job of few iterations the last ones weigh more.
  return capped >= (1 - kIterationTolerance) * n || n - capped <= static_cast<double>(last_iterations);
}

bool IterationSizes::has_asked_mean() const {
  const auto asked = static_cast<double>(size.asked_tokens * iterations);
  return std::abs(static_cast<double>(trained_tokens) - asked) <= kIterationTolerance * asked;
}

double IterationSizes::repeated_fraction() const {
  const auto repeated = static_cast<double>(repeated_tokens);
  return repeated / std::max(1.0, static_cast<double>(trained_tokens) - repeated);
}

IterationSizes iteration_sizes(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                               std::span<const std::int64_t> pack_tokens, const IterationSize& size,
                               std::int64_t last_iterations) {
  IterationSizes sizes{.size = size,
                       .iterations = static_cast<std::int64_t>(schedule.iterations.size()),
                       .repeated_tokens = schedule.repeated_tokens,
                       .last_iterations = last_iterations};
  for (const Iteration& iteration : schedule.iterations) {
    std::int64_t tokens = 0;
    std::int64_t counted_tokens = 0;
    std::int64_t longest_tokens = 0;
    for (const PlacedPack& placed : schedule.packs(iteration)) {
      schedule.load_ahead(placed, batches);
      const MicroBatch& batch = batches[placed.group][placed.pack];
      tokens += batch.tokens;
      counted_tokens += std::max(batch.tokens, pack_tokens[placed.group]);
      longest_tokens = std::max<std::int64_t>(longest_tokens, batch.longest_tokens);
    }
    sizes.trained_tokens += tokens;
    sizes.capped_tokens += std::min(tokens, size.asked_tokens);
    sizes.counted_tokens += std::min(counted_tokens, size.asked_tokens);
    sizes.largest_tokens = std::max(sizes.largest_tokens, tokens);
    sizes.too_large += tokens > std::max(size.most_tokens(), longest_tokens);
    sizes.too_small += counted_tokens < size.least_tokens();
  }
  return sizes;
}

bool has_asked_iterations(const IterationSizes& sizes) {
  return sizes.iterations > 0 && sizes.has_asked_largest() && sizes.has_asked_least() &&
         sizes.repeated_fraction() <= kRepeatTolerance;
}

}  // namespace packsim
