#include "experiment/plans/repack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "experiment/plans/joined_plans.hpp"
#include "experiment/plans/new_packs.hpp"
#include "experiment/plans/stopwatch.hpp"

namespace packsim {
namespace {

OrderMoves moves_of(const StrategySpec& spec, std::span<const PlannedStrategy> epochs) {
  OrderMoves all;
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    const OrderMoves own = order_moves(epochs[epoch].packing, spec_of_part(spec, epoch).options);
    all.mean_move_iterations += own.mean_move_iterations / static_cast<double>(epochs.size());
    all.largest_move_iterations = std::max(all.largest_move_iterations, own.largest_move_iterations);
  }
  return all;
}

PackedEpochs compare_epochs(std::span<const PlannedStrategy> epochs) {
  std::vector<const Packing*> packings;
  for (const PlannedStrategy& epoch : epochs) packings.push_back(&epoch.packing);
  return {.n_epochs = static_cast<int>(epochs.size()), .repacking = count_new_packs(packings)};
}

void check_size(std::size_t n_items, int n_epochs) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (n_items == 0 || static_cast<std::size_t>(n_epochs) <= kMost / n_items) return;
  throw std::invalid_argument(fmt::format(
      "repack_each_epoch: expected at most {} samples over all epochs, which makes {} epochs of {}, got {}",
      kMost, kMost / n_items, n_items, n_epochs));
}

}  // namespace

PlannedStrategy plan_each_epoch(const Scenario& scenario, const StrategySpec& spec,
                                std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers) {
  const int n_epochs = scenario.training.epochs;
  check_size(lengths_tokens.size(), n_epochs);
  Scenario of_epoch = scenario;
  of_epoch.training.epochs = 1;
  std::vector<PlannedStrategy> epochs;
  epochs.push_back(plan_strategy(of_epoch, spec_of_part(spec, 0), lengths_tokens, pricers));
  check_size(epochs.front().packing.lengths_tokens.size(), n_epochs);
  const StrategySpec at_stage = at_chosen_stage(scenario, spec, epochs.front());
  for (int epoch = 1; epoch < n_epochs; ++epoch)
    epochs.push_back(plan_strategy(of_epoch, spec_of_part(at_stage, static_cast<std::size_t>(epoch)),
                                   lengths_tokens, pricers));

  const Stopwatch joining_watch;
  const PackedEpochs packed = compare_epochs(epochs);
  const OrderMoves moves = moves_of(spec, epochs);
  Packing& first = epochs.front().packing;
  JoinedPlans run(groups_of_plans(spec, epochs), epochs.front());
  run.packing().pieces = std::move(first.pieces);
  run.packing().cut_lengths_tokens = std::move(first.cut_lengths_tokens);
  run.packing().lengths_tokens = first.lengths_tokens;
  run.packing().counts = first.counts;
  for (PlannedStrategy& epoch : epochs) {
    run.add(epoch, groups_of_plan(spec, epoch));
    epoch = {};  // its memory
  }
  PlannedStrategy plan = run.finish(scenario, at_stage, {.epochs = packed, .windows = {}, .moves = moves});
  plan.scheduling_s += joining_watch.seconds();
  return plan;
}

}  // namespace packsim
