#include <array>

#include "packing/algorithms/item_order.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

// kBatchSamples, which must say how many.
constexpr IntegerOption kRowsOfBatch =
    integer_option(kBatchSamples.name,
                   {.default_value = kBatchSamples.default_integer, .least = 1, .most = kBatchSamples.most},
                   kBatchSamples.text);

PackSet pack_none(const PackProblem& problem) {
  PackSet batches;
  batches.items = packing_order(problem);
  const std::int64_t batch_samples = problem.options[kRowsOfBatch];
  std::int64_t n_rows = 0;
  bool last_is_over_long = false;
  for (std::uint32_t i = 0; i < batches.items.size(); ++i) {
    const bool over_long = problem.lengths_tokens[batches.items[i]] > problem.capacity_tokens;
    const bool own_batch = over_long || last_is_over_long;
    if (n_rows > 0 && (own_batch || n_rows >= batch_samples)) {
      batches.offsets.push_back(i);
      n_rows = 0;
    }
    ++n_rows;
    last_is_over_long = over_long;
  }
  if (n_rows > 0) batches.close_pack();
  return batches;
}

constexpr std::array<const Option*, 3> kNoneOptions = {&kRowsOfBatch, &kShuffle, &kSeed};

std::vector<OptionValues> none_options(std::int64_t /*capacity_tokens*/) {
  return {{{kRowsOfBatch.name, 2}}, {{kRowsOfBatch.name, 4}}, {{kRowsOfBatch.name, 8}}};
}

}  // namespace

extern constinit const Strategy none = {
    .name = "none",
    .summary = "No packing: a row per sample, batch_samples rows a micro-batch, in shuffled order.",
    .complexity = "O(N)",
    .source = "the usual data loader",
    .layout = Layout::rows,
    .pack = pack_none,
    .counts_samples = true,
    .options = kNoneOptions,
    .searched_options = none_options,
};

}  // namespace packsim::strategies_detail
