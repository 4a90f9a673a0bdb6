#include "recommend/least_work.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "experiment/bounds/plan_bounds.hpp"
#include "experiment/search/base_plans.hpp"
#include "packing/schedule/iteration_size.hpp"
#include "planning/bound/lower_bound.hpp"

namespace packsim {
namespace {

constexpr double kSecondsPerHour = 3600;
// A step's flop has three parts (forward, gradients of inputs, gradients of weights). Two of them remain if
// no weight of the model is trained.
constexpr double kLoraFraction = 2.0 / 3.0;

// No strategy cuts or drops samples up to this length.
std::int64_t whole_tokens(const Scenario& scenario) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const StrategySpec& spec : scenario.strategies) {
    std::int64_t most = 0;
    for (const GroupSpec& group : spec.groups) most = std::max<std::int64_t>(most, group.capacity_tokens);
    if (most > 0) least = std::min(least, most);
  }
  return least;
}

// Counts the lengths of samples that every strategy trains whole, in ascending order.
std::vector<LengthCount> whole_lengths(const Scenario& scenario, const DataSet& data) {
  const std::int64_t longest = whole_tokens(scenario);
  std::map<std::int32_t, std::int64_t> counts;
  for (const std::int32_t length : data.drawn.lengths_tokens) {
    if (length > 0 && length <= longest) ++counts[length];
  }
  std::vector<LengthCount> lengths;
  for (const auto& [length_tokens, n_samples] : counts) lengths.push_back({length_tokens, n_samples});
  return lengths;
}

bool any_plan(const Scenario& scenario, auto has) {
  return std::ranges::any_of(
      scenario.strategies, [&](const StrategySpec& spec) { return has(spec.plan.value_or(scenario.plan)); });
}

double peak_flop_per_s(const Scenario& scenario) {
  double peak = scenario.cluster.gpu.peak("bf16").value_or(0);
  for (const PrecisionKind& kind : kPrecisions) {
    if (any_plan(scenario, [&](const ParallelPlan& plan) { return plan.precision == kind.value; }))
      peak = std::max(peak, scenario.cluster.gpu.peak(kind.peak).value_or(0));
  }
  return peak;
}

double hours_at_peak(const Scenario& scenario, const std::vector<LengthCount>& lengths) {
  const double peak = peak_flop_per_s(scenario);
  if (peak <= 0 || lengths.empty()) return 0;
  const Transformer& model = scenario.model;
  double tokens = 0;
  double attention_flop = 0;
  for (const LengthCount& count : lengths) {
    const auto n_samples = static_cast<double>(count.n_samples);
    tokens += n_samples * count.length_tokens;
    attention_flop += n_samples * model.attention_flop(count.length_tokens);
  }
  // Packs that the last iteration of an epoch leaves out are less than an iteration, of the dearest tokens.
  const auto left_out = static_cast<double>(scenario.training.tokens_per_iteration);
  const std::int64_t longest = lengths.back().length_tokens;
  const double dearest_flop = left_out * model.attention_flop(longest) / static_cast<double>(longest);
  const double flop =
      model.training_flop(tokens, attention_flop) - model.training_flop(left_out, dearest_flop);
  const bool has_lora = any_plan(scenario, [](const ParallelPlan& plan) { return plan.lora_rank > 0; });
  return std::max(0.0, flop) * scenario.training.epochs * (has_lora ? kLoraFraction : 1) / peak /
         kSecondsPerHour;
}

// Whether the bound holds for all strategies: they train all of these samples, each alone, under plans that
// are known beforehand.
bool is_bounded(const Scenario& scenario) {
  return !scenario.variability.any() &&
         std::ranges::none_of(scenario.strategies, [](const StrategySpec& spec) {
           return spec.searches_plan || spec.attention != Attention::within_samples ||
                  spec.last_iteration == LastIteration::drop;
         });
}

// All schedules that train the job that was asked for, with every way to share a pack that a planner tries.
BoundSpace space_of(const Scenario& scenario, const Job& job, const std::vector<ParallelPlan>& plans,
                    std::int64_t longest_tokens) {
  const IterationSize size{scenario.training.tokens_per_iteration, longest_tokens};
  BoundSpace space{.sequences = {},
                   .tokens_per_iteration = size.most_tokens(),
                   .mean_tokens_per_iteration = static_cast<double>(size.most_tokens()),
                   .most_pack_tokens = 0,
                   .epochs = scenario.training.epochs};
  space.most_pack_tokens = space.tokens_per_iteration;
  for (const StrategySpec& spec : scenario.strategies) {
    for (const GroupSpec& group : spec.groups) {
      space.sequences.push_back(group.sequence);
      space.most_pack_tokens = std::max<std::int64_t>(space.most_pack_tokens, group.capacity_tokens);
    }
  }
  for (const ParallelPlan& plan : plans) {
    std::ranges::copy(ways_to_share(job, plan), std::back_inserter(space.sequences));
  }
  return space;
}

std::optional<double> hours_of_any_schedule(const Scenario& scenario, const std::vector<LengthCount>& lengths,
                                            SharedWork& shared) {
  if (!is_bounded(scenario) || lengths.empty()) return {};
  // Iterations with longer samples may be larger on average.
  if (lengths.back().length_tokens > scenario.training.tokens_per_iteration) return {};
  const std::shared_ptr<const JobPrices> prices = shared.prices(scenario);
  const std::shared_ptr<ScenarioPricers> pricers = prices->prices->lend();
  const Job job{scenario.model, scenario.cluster, scenario.hardware, scenario.profile.factors};
  std::vector<ParallelPlan> plans;
  for (const StrategySpec& spec : scenario.strategies) {
    for (const ParallelPlan& plan : base_plans(scenario, spec)) {
      if (std::ranges::find(plans, plan) == plans.end()) plans.push_back(plan);
    }
  }
  const BoundSpace space = space_of(scenario, job, plans, lengths.back().length_tokens);
  const std::optional<LowerBound> bound = PlanBounds(scenario, space, *pricers).least(plans, lengths);
  if (!bound) return {};
  return bound->gpu_s / kSecondsPerHour;
}

}  // namespace

LeastWork least_work(const Scenario& scenario, SharedWork& shared) {
  const std::vector<LengthCount> lengths = whole_lengths(scenario, *shared.data(scenario));
  if (const auto hours = hours_of_any_schedule(scenario, lengths, shared))
    return {*hours, "with any schedule"};
  return {hours_at_peak(scenario, lengths), "at the peak of its GPUs"};
}

}  // namespace packsim
