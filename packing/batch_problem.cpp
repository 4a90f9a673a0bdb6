#include "packing/batch_problem.hpp"

#include "packing/item_order.hpp"

namespace packsim {

std::vector<std::vector<ItemIndex>> global_batches(const BatchProblem& problem) {
  std::vector<std::vector<ItemIndex>> batches;
  std::int64_t tokens = 0;
  for (const ItemIndex item : packing_order(problem.items)) {
    const std::int64_t length = problem.items.lengths_tokens[item];
    if (batches.empty() || tokens + length > problem.setting.tokens_per_iteration) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(item);
    tokens += length;
  }
  return batches;
}

}  // namespace packsim
