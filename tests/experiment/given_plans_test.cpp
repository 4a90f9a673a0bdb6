#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "experiment/plans/plan_group.hpp"
#include "models/plan/plan_text.hpp"
#include "planning/group_selection/candidate_groups.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/search_space/search_dimensions.hpp"
#include "tests/experiment/random_jobs.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

constexpr double kMostBehindGiven = 0.005;
constexpr int kGivenPlans = 24;

// Plans of a scenario's first strategy as somebody may write them by hand: any, or the one that was found
// with one or two things changed.
class PlansByHand {
 public:
  PlansByHand(const Scenario& scenario, std::uint32_t number, std::int64_t longest_tokens)
      : scenario_(scenario),
        bases_(plans_of_space(scenario, scenario.strategies.front(),
                              base_plan(scenario, scenario.strategies.front()))),
        generator_(number),
        longest_tokens_(longest_tokens) {}

  StrategySpec any() {
    StrategySpec spec = given(bases_[pick(bases_.size())]);
    const std::size_t n_groups = spec.strategy == "hbp" ? 1 + pick(3) : 1;
    for (std::size_t i = 0; i < n_groups; ++i) {
      const SequenceParallelism sequence = any_sequence(*spec.plan);
      const std::int64_t tokens = rank_tokens(*spec.plan, sequence) / static_cast<std::int64_t>(1 + pick(16));
      spec.groups.push_back({.capacity_tokens = tokens, .sequence = sequence, .gc_layers = {}});
    }
    return finished(std::move(spec));
  }

  StrategySpec near(const StrategyResult& found) {
    StrategySpec spec = given(found.plan);
    spec.plan->sequence = {};
    spec.plan->gc_layers = 0;
    spec.micro_batches_per_rank = found.groups.front().micro_batches_per_rank;
    for (const PlannedGroup& group : found.groups)
      spec.groups.push_back(
          {.capacity_tokens = group.capacity_tokens, .sequence = group.sequence, .gc_layers = {}});
    if (spec.strategy != "hbp") spec.groups.erase(spec.groups.begin(), spec.groups.end() - 1);
    for (std::size_t i = 1 + pick(2); i > 0; --i) change(spec);
    return finished(std::move(spec));
  }

 private:
  std::size_t pick(std::size_t n) { return generator_() % n; }

  StrategySpec given(const ParallelPlan& plan) {
    static constexpr std::array<const char*, 4> kPackers = {"isf", "ffd", "hbp", "wlb"};
    StrategySpec spec = scenario_.strategies.front();
    if (chooses_groups(spec)) spec.strategy = kPackers[pick(kPackers.size())];
    spec.name = "given " + std::to_string(++n_plans_);
    spec.searches_plan = false;
    spec.plan = plan;
    return spec;
  }

  void change(StrategySpec& spec) {
    GroupSpec& group = spec.groups[pick(spec.groups.size())];
    switch (pick(5)) {
      case 0:
        group.sequence = any_sequence(*spec.plan);
        break;
      case 1:
        group.capacity_tokens = static_cast<std::int64_t>(static_cast<double>(group.capacity_tokens) *
                                                          (0.5 + static_cast<double>(pick(16)) / 10));
        break;
      case 2: {
        const ParallelPlan plan = bases_[pick(bases_.size())];
        spec.plan = plan;
        for (GroupSpec& one : spec.groups) one.sequence = any_sequence(plan);
        break;
      }
      case 3:
        spec.micro_batches_per_rank.reset();
        break;
      case 4:
        if (spec.groups.size() > 1) spec.groups.erase(spec.groups.begin());
        break;
    }
  }

  SequenceParallelism any_sequence(const ParallelPlan& base) {
    const Job job{scenario_.model, scenario_.cluster, scenario_.hardware, scenario_.profile.factors};
    const std::vector<SequenceParallelism> ways = ways_to_share(job, base);
    return ways[pick(ways.size())];
  }

  std::int64_t rank_tokens(const ParallelPlan& base, const SequenceParallelism& sequence) const {
    return scenario_.training.tokens_per_iteration * sequence.gpus_per_pack() / packed_gpus(base);
  }

  // The last group holds every sample, and each pack has whole tokens on a GPU.
  StrategySpec finished(StrategySpec spec) const {
    std::ranges::stable_sort(spec.groups, {}, &GroupSpec::capacity_tokens);
    GroupSpec& last = spec.groups.back();
    last.capacity_tokens = std::max(last.capacity_tokens, longest_tokens_);
    for (GroupSpec& group : spec.groups) {
      const std::int64_t gpus = group.sequence.gpus_per_pack();
      group.capacity_tokens = (std::max<std::int64_t>(1, group.capacity_tokens) + gpus - 1) / gpus * gpus;
    }
    // Of groups that are as long, one is enough, and rounding may have changed their order.
    std::ranges::stable_sort(spec.groups, {}, &GroupSpec::capacity_tokens);
    const auto same = std::ranges::unique(spec.groups, {}, &GroupSpec::capacity_tokens);
    spec.groups.erase(same.begin(), same.end());
    return spec;
  }

  const Scenario& scenario_;
  std::vector<ParallelPlan> bases_;
  std::mt19937 generator_;
  std::int64_t longest_tokens_;
  int n_plans_ = 0;
};

std::int64_t longest_of(const std::string& lengths_csv) {
  std::istringstream lines(lengths_csv);
  std::string header;
  std::getline(lines, header);
  std::int64_t longest = 1;
  for (std::int64_t tokens = 0; lines >> tokens;) longest = std::max(longest, tokens);
  return longest;
}

std::string plan_of(const StrategyResult& run) {
  std::string text = run.strategy + " " + searched_plan_text(run.plan);
  for (const PlannedGroup& group : run.groups) {
    text += " | " + std::to_string(group.capacity_tokens) + " SP " + std::to_string(group.sequence.ulysses) +
            " CP " + std::to_string(group.sequence.ring) + " GC " + std::to_string(group.gc_layers) + " of " +
            std::to_string(group.micro_batches_per_rank.value_or(0));
  }
  return text;
}

bool fits_surely(const StrategyResult& run) {
  return std::ranges::all_of(run.groups, &PlannedGroup::fits_with_margin);
}

// No plan given by hand is faster than the searched one, or below the bound.
void check_given_plans(std::uint32_t first, std::uint32_t last, bool prints) {
  const TempFolder folder;
  for (std::uint32_t number = first; number <= last; ++number) {
    CAPTURE(number);
    const packsim_test::OpenJob job(number);
    folder.write("lengths.csv", job.lengths_csv());
    const Scenario scenario = load_scenario(folder.write("job.json", job.scenario("")), packsim_test::kData);
    PlansByHand by_hand(scenario, number, longest_of(job.lengths_csv()));
    RunOptions options;
    options.keeps_failures = true;
    const StrategyResult searched = compare_strategies(scenario, options).runs.front();
    if (!searched.times) continue;
    Scenario by_hands = scenario;
    for (int i = 0; i < kGivenPlans; ++i)
      by_hands.strategies.push_back(i % 4 == 0 ? by_hand.any() : by_hand.near(searched));
    by_hands.strategies.erase(by_hands.strategies.begin());
    by_hands.baseline = by_hands.strategies.front().name;
    options.only_times = true;
    int n_compared = 0;
    double most_behind = -1;
    std::string best_given;
    double least_above = 1e9;
    for (const StrategyResult& given : compare_strategies(by_hands, options).runs) {
      const bool is_same_job = given.times && given.differences.empty() &&
                               given.counts.trained_tokens == searched.counts.trained_tokens;
      if (!is_same_job) continue;
      ++n_compared;
      const double behind = searched.times->gpu_days / given.times->gpu_days - 1;
      CAPTURE(plan_of(searched), plan_of(given), behind);
      // A search chooses what surely fits where there is such a plan.
      if (fits_surely(given) || !fits_surely(searched)) {
        if (behind > most_behind) best_given = plan_of(given);
        most_behind = std::max(most_behind, behind);
        CHECK(behind <= kMostBehindGiven);
      }
      // The bound is over iterations that are no larger than the searched ones.
      const bool is_in_space =
          searched.bound && given.iterations >= searched.iterations &&
          given.counts.largest_iteration_tokens <= searched.counts.largest_iteration_tokens;
      if (!is_in_space) continue;
      least_above = std::min(least_above, given.times->gpu_days / searched.bound->gpu_days - 1);
      CHECK(searched.bound->gpu_days <= given.times->gpu_days);
    }
    if (prints)
      std::cout << number << (most_behind > kMostBehindGiven ? " BEHIND " : " ") << most_behind
                << (least_above < 0 ? " BELOW " : " above ") << least_above << " of " << n_compared << ": "
                << plan_of(searched) << "; given: " << best_given << std::endl;
  }
}

}  // namespace

TEST_CASE("No plan given by hand is faster than the searched one, or below the bound", "[plain]") {
  check_given_plans(33, 33, false);
}

TEST_CASE("No plan given by hand for more jobs is faster than the searched one", "[slow]") {
  // Longer packs than an iteration's share; and one degree in place of several, for two kinds of lengths.
  for (const std::uint32_t number : {116, 254, 263}) check_given_plans(number, number, false);
}

// PACKSIM_JOBS="1 300" build/tests/test_experiment "[.given]" prints a line for each job.
TEST_CASE("Plans given by hand for as many random jobs as are asked for", "[.given]") {
  packsim_test::check_jobs_asked_for(
      [](std::uint32_t first, std::uint32_t last) { check_given_plans(first, last, true); });
}
