#include "experiment/costs/loss_biases.hpp"

#include "packing/loss/loss_bias.hpp"

namespace packsim {

std::vector<LossBiasResult> loss_biases(const Packing& packing, const Schedule& schedule,
                                        std::span<const std::int32_t> loss_tokens) {
  if (schedule.iterations.empty()) return {};
  const LossTokens of_items(packing, loss_tokens);
  const auto losses = count_losses(packing, of_items);
  std::vector<LossBiasResult> results;
  const std::vector<LossBias> biases = loss_bias(packing, schedule, of_items, losses, normalisers());
  for (std::size_t n = 0; n < biases.size(); ++n) {
    const LossBias& bias = biases[n];
    results.push_back({.normaliser = std::string(normalisers()[n].name),
                       .misplaced_fraction = bias.misplaced_fraction,
                       .long_sample_weight = bias.long_sample_weight,
                       .least_sum = bias.least_sum,
                       .most_sum = bias.most_sum});
  }
  return results;
}

}  // namespace packsim
