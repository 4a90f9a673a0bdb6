#include "packing/algorithms/balance/sample_work.hpp"

#include <cmath>

#include "packing/options/shared_options.hpp"

namespace packsim {

SampleWork::SampleWork(const BatchProblem& problem) : problem_(problem) {
  const BatchGroup& group = problem.setting.groups[0];
  has_prices_ = !group.cost.tokens_s.tokens.empty();
  if (has_prices_)
    s_per_token_ = group.cost.tokens_s.at(group.capacity_tokens) / static_cast<double>(group.capacity_tokens);
}

std::int64_t SampleWork::of(ItemIndex item) const {
  const std::int64_t tokens = problem_.items.lengths_tokens[item];
  if (!has_prices_) return tokens * (tokens + problem_.items.options[kLinearWeightTokens]);
  constexpr double kNanoseconds = 1e9;
  const double attention_s = problem_.setting.groups[0].cost.document_s.at(tokens);
  return std::llround(kNanoseconds * (s_per_token_ * static_cast<double>(tokens) + attention_s));
}

std::int64_t SampleWork::of(std::span<const ItemIndex> items) const {
  std::int64_t sum = 0;
  for (const ItemIndex item : items) sum += of(item);
  return sum;
}

}  // namespace packsim
