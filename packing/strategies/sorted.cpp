#include <array>
#include <optional>

#include "packing/algorithms/sort_by_length.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

constexpr BooleanOption kPaddedBatches = boolean_option(
    "padded_batches", true,
    "If batch_samples is 0, every row counts with the length of the longest row in its micro-batch.");

PackSet pack_sorted(const PackProblem& problem) {
  PackSet batches;
  batches.items = shortest_first(problem).items;
  const std::optional<std::int64_t> batch_samples = problem.options[kBatchSamples];
  const bool padded_batches = problem.options[kPaddedBatches];
  std::int64_t n_rows = 0;
  std::int64_t n_tokens = 0;
  for (std::uint32_t i = 0; i < batches.items.size(); ++i) {
    const std::int64_t length = problem.lengths_tokens[batches.items[i]];
    // Lengths ascend, so the newest row is the longest and sets the padded size.
    const std::int64_t needed = padded_batches ? (n_rows + 1) * length : n_tokens + length;
    const bool full = batch_samples ? n_rows == *batch_samples : needed > problem.capacity_tokens;
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

constexpr std::array<const Option*, 2> kSortedOptions = {&kBatchSamples, &kPaddedBatches};

std::vector<OptionValues> sorted_options(std::int64_t /*capacity_tokens*/) {
  return {{{kBatchSamples.name, 0}},
          {{kBatchSamples.name, 2}},
          {{kBatchSamples.name, 4}},
          {{kBatchSamples.name, 8}}};
}

}  // namespace

extern constinit const Strategy sorted = {
    .name = "sorted",
    .summary =
        "Batches of samples of similar length: batch_samples rows each, or, with 0, as many as fit in the "
        "capacity.",
    .complexity = "O(N)",
    .source = "LongAlign arXiv 2401.18058",
    .layout = Layout::rows,
    .pack = pack_sorted,
    .options = kSortedOptions,
    .searched_options = sorted_options,
    .default_order = PackOrder::neighbours,
};

}  // namespace packsim::strategies_detail
