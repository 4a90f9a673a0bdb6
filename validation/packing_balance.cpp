// The ABR of packings, without simulating them.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include "experiment/plans/plan_strategy.hpp"
#include "packing/schedule/metrics.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// Packings of shipped scenarios, each made once.
class Packings {
 public:
  explicit Packings(const DataPaths& data) : data_(data) {}

  double abr(const PublishedRow& published) {
    const PlannedStrategy& plan = planned(published.scenario, published.strategy);
    if (published.n_ranks == 0) return measure(plan.schedule, plan.batches).abr;
    const std::vector<std::int64_t> capacities(plan.groups.size(), plan.groups.front().capacity_tokens);
    const std::vector<GroupParallelism> alone(plan.groups.size());
    const Schedule schedule = make_schedule(plan.batches, capacities, alone,
                                            {.n_gpus = published.n_ranks, .epochs = plan.schedule.epochs});
    return measure(schedule, plan.batches).abr;
  }

 private:
  const PlannedStrategy& planned(const std::string& scenario_name, const std::string& strategy) {
    const auto [place, is_new] = plans_.try_emplace({scenario_name, strategy});
    if (!is_new) return place->second;
    const Scenario scenario = load_scenario(scenario_name, data_);
    const auto spec = std::ranges::find(scenario.strategies, strategy, &StrategySpec::name);
    if (spec == scenario.strategies.end())
      throw std::invalid_argument(
          fmt::format("scenario {}: expected a strategy {}", scenario_name, strategy));
    const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
    place->second = plan_strategy(scenario, *spec, drawn.lengths_tokens);
    return place->second;
  }

  DataPaths data_;
  std::map<std::pair<std::string, std::string>, PlannedStrategy> plans_;
};

ValidationRow abr_row(const PublishedRow& published, double tolerance, Packings& packings) {
  const bool is_shipped = !published.scenario.empty();
  ValidationRow row =
      compared_row(published.name, published.value,
                   is_shipped ? packings.abr(published) : std::numeric_limits<double>::quiet_NaN(), "ABR",
                   tolerance, true);
  if (!is_shipped) row.outcome = Outcome::refused;
  if (published.n_ranks > 0) row.beside = fmt::format("{} ranks", published.n_ranks);
  row.note = published.note;
  return row;
}

}  // namespace

std::vector<ValidationSet> validate_balance(const PublishedTables& tables, const DataPaths& data) {
  Packings packings(data);
  ValidationSet lengths{.name = "hbp-abr-lengths",
                        .title = "HBP packing by length, ABR",
                        .about =
                            "ISF at each length. The length samples were fitted to some of the paper's "
                            "ratios, the packing to none"};
  for (const PublishedRow& published : tables.abr_by_length)
    lengths.rows.push_back(abr_row(published, tables.tolerance("packing_by_length/abr"), packings));
  ValidationSet sets{.name = "hbp-abr-data",
                     .title = "HBP by data set, ABR",
                     .about = "Hierarchical packing with balance batching"};
  for (const PublishedRow& published : tables.abr_by_data_set)
    sets.rows.push_back(abr_row(published, tables.tolerance("abr_by_data_set/abr"), packings));
  return {lengths, sets};
}

}  // namespace packsim
