#include "experiment/bounds/set_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "experiment/bounds/plan_bounds.hpp"
#include "experiment/plans/batch_run.hpp"
#include "experiment/results/iteration_sizes.hpp"
#include "experiment/search/base_plans.hpp"
#include "models/plan/plan_key.hpp"
#include "models/state_traffic.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

constexpr double kDay_s = 86400;

// Counts the lengths of the items that one epoch trains.
std::vector<LengthCount> count_lengths(const PlannedStrategy& plan) {
  const Packing& packing = plan.packing;
  // Every epoch has each item in a pack of its own.
  const int times = plan.epochs ? plan.epochs->n_epochs : 1;
  std::vector<std::int64_t> counts;
  for (const PackSet& packs : packing.groups) {
    for (const ItemIndex item : packs.items) {
      const auto length = static_cast<std::size_t>(packing.lengths_tokens[item]);
      if (length >= counts.size()) counts.resize(length + 1);
      ++counts[length];
    }
  }
  std::vector<LengthCount> lengths;
  for (std::size_t length = 1; length < counts.size(); ++length) {
    if (counts[length] > 0) lengths.push_back({static_cast<std::int32_t>(length), counts[length] / times});
  }
  return lengths;
}

// The schedules that train the job that was asked for. Of the runs whose iterations have the size asked for,
// the largest iteration and the largest mean limit the size of iterations.
BoundSpace space_of(const Scenario& scenario, std::span<const TrainedData> trained, const Report& report) {
  BoundSpace space{.tokens_per_iteration = scenario.training.tokens_per_iteration,
                   .mean_tokens_per_iteration = static_cast<double>(scenario.training.tokens_per_iteration),
                   .epochs = scenario.training.epochs};
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const TrainedData& data = trained[i];
    space.sequences.insert(space.sequences.end(), data.sequences.begin(), data.sequences.end());
    if (const StrategyResult& run = report.runs[i]; has_asked_iterations(run.sizes)) {
      space.tokens_per_iteration = std::max(space.tokens_per_iteration, run.counts.largest_iteration_tokens);
      space.mean_tokens_per_iteration =
          std::max(space.mean_tokens_per_iteration, run.mean_iteration_tokens());
    }
    space.most_pack_tokens = std::max(space.most_pack_tokens, data.most_pack_tokens);
    if (!data.lengths.empty())
      space.most_pack_tokens =
          std::max<std::int64_t>(space.most_pack_tokens, data.lengths.back().length_tokens);
  }
  space.most_pack_tokens = std::max(space.most_pack_tokens, space.tokens_per_iteration);
  return space;
}

// Whether the bound holds for a run.
bool is_in(const BoundSpace& space, const StrategyResult& run) {
  return run.counts.largest_iteration_tokens <= space.tokens_per_iteration &&
         (run.iterations == 0 || run.mean_iteration_tokens() <= space.mean_tokens_per_iteration);
}

BoundResult result_of(const LowerBound& bound) {
  BoundResult result{.zero_stage = bound.zero_stage,
                     .gpu_days = bound.gpu_s / kDay_s,
                     .iterations = bound.iterations,
                     .steps_gpu_days = bound.steps_gpu_s / kDay_s,
                     .waiting_gpu_days = bound.waiting_gpu_s / kDay_s};
  for (std::size_t cause = 0; cause < kNCauses; ++cause)
    result.pack_gpu_days[cause] = bound.packs_gpu_s[cause] / kDay_s;
  return result;
}

// The plans among which a run's plan was, without degrees of sequences.
std::vector<ParallelPlan> plans_of_run(const Scenario& scenario, const StrategySpec& spec,
                                       const TrainedData& trained) {
  if (!has_open_groups(spec)) return {trained.plan};
  return base_plans(scenario, spec);
}

// The dimensions of these plans, for people: from where to where degrees reach, and what else has several
// values.
std::string space_text(const Scenario& scenario, std::span<const ParallelPlan> plans) {
  std::vector<std::string> texts = {"packs", "SP", "CP"};
  for (const SearchDimension* dimension : kSearchDimensions) {
    if (dimension->shown.empty() || (dimension == &kExpertDegrees && !scenario.model.has_experts())) continue;
    const std::vector<std::string> values = values_of(*dimension, plans);
    const bool has_words = find_plan_key(dimension->plan_key)->option.words != nullptr;
    const bool is_default = values.size() == 1 && dimension->value(plans.front()) == dimension->value({});
    const bool is_usual = has_words || dimension->usual == nullptr || dimension == &kVirtualStages;
    if (is_default && is_usual) continue;
    std::string& text = texts.emplace_back(dimension->shown);
    if (has_words && values.size() > 1) continue;
    text += " " + values.front();
    if (values.size() > 1) text += "-" + values.back();
  }
  const std::string last = std::move(texts.back());
  texts.pop_back();
  return fmt::format("{} and {}", fmt::join(texts, ", "), last);
}

BoundGap gap_of(const StrategyResult& run, double bound_gpu_days, std::string space) {
  BoundGap gap{.gpu_days = bound_gpu_days, .space = std::move(space), .above_fraction = {}};
  if (run.times)
    gap.above_fraction =
        run.times->gpu_days_without_variability.value_or(run.times->gpu_days) / bound_gpu_days - 1;
  return gap;
}

}  // namespace

TrainedData trained_data(const PlannedStrategy& plan) {
  TrainedData data;
  const bool is_within_samples = plan.packing.attention == Attention::within_samples;
  if (plan.schedule.dropped_packs == 0 && is_within_samples) data.lengths = count_lengths(plan);
  for (const std::vector<MicroBatch>& batches : plan.batches) {
    for (const MicroBatch& batch : batches)
      data.most_pack_tokens = std::max(data.most_pack_tokens, batch.tokens + batch.padded_tokens);
  }
  for (const PlannedGroup& group : plan.groups) data.sequences.push_back(group.sequence);
  data.plan = plan.plans.front();
  data.plan.sequence = {};
  data.plan.gc_layers = 0;
  return data;
}

void set_bounds(const Scenario& scenario, std::span<const TrainedData> trained, SharedPrices& prices,
                Report& report) {
  const std::shared_ptr<ScenarioPricers> pricers = prices.lend();
  const BoundSpace space = space_of(scenario, trained, report);
  PlanBounds bounds(scenario, space, *pricers);
  // Strategies that treat over-long samples alike train the same, and share a bound if they could have had
  // the same plans.
  struct Known {
    std::vector<ParallelPlan> plans;
    std::span<const LengthCount> lengths;
    std::optional<LowerBound> bound;
  };
  std::vector<Known> all_known;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    StrategyResult& run = report.runs[i];
    if (!is_in(space, run) || trained[i].lengths.empty()) continue;
    std::vector<ParallelPlan> plans = plans_of_run(scenario, scenario.strategies[i], trained[i]);
    auto known = std::ranges::find_if(all_known, [&](const Known& one) {
      return one.plans == plans && std::ranges::equal(one.lengths, trained[i].lengths);
    });
    if (known == all_known.end()) {
      const std::optional<LowerBound> bound = bounds.least(plans, trained[i].lengths);
      known = all_known.insert(known, {std::move(plans), trained[i].lengths, bound});
    }
    if (known->bound)
      run.bound = gap_of(run, result_of(*known->bound).gpu_days, space_text(scenario, known->plans));
  }
  const auto baseline = std::ranges::find(report.runs, report.baseline, &StrategyResult::name);
  if (baseline == report.runs.end()) return;
  const TrainedData& data = trained[static_cast<std::size_t>(baseline - report.runs.begin())];
  if (data.lengths.empty()) return;
  const int zero_stage = scenario.plan.zero_stage;
  std::vector<ParallelPlan> plans = {scenario.plan};
  for (const int stage : {1, 2, 3}) {
    // In a pipeline, stages 2 and 3 send what stage 1 does.
    if (stage > 1 && scenario.plan.pp_degree > 1) continue;
    if (stage != zero_stage) plans.push_back(with_zero_stage(scenario.plan, stage));
  }
  for (const ParallelPlan& plan : plans) {
    if (const auto bound = bounds.at(plan, data.lengths)) report.bounds.push_back(result_of(*bound));
  }
}

}  // namespace packsim
