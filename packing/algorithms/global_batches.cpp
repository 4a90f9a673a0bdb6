#include "packing/algorithms/global_batches.hpp"

#include "packing/algorithms/item_order.hpp"
#include "packing/options/shared_options.hpp"

namespace packsim {

std::vector<std::vector<ItemIndex>> global_batches(const BatchProblem& problem, const BatchSize& size) {
  std::vector<std::vector<ItemIndex>> batches;
  std::int64_t tokens = 0;
  const auto is_full = [&](std::int64_t length) {
    if (batches.empty()) return true;
    if (size.n_samples) return std::ssize(batches.back()) >= *size.n_samples;
    return tokens + length > size.tokens;
  };
  for (const ItemIndex item : packing_order(problem.items)) {
    const std::int64_t length = problem.items.lengths_tokens[item];
    if (is_full(length)) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(item);
    tokens += length;
  }
  return batches;
}

std::vector<std::vector<ItemIndex>> global_batches(const BatchProblem& problem) {
  const OptionValues& options = problem.items.options;
  return global_batches(problem,
                        {.tokens = options[kBatchTokens].value_or(problem.setting.tokens_per_iteration),
                         .n_samples = options[kSamplesPerIteration]});
}

}  // namespace packsim
