#include "experiment/search/find_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "experiment/plans/plan_group.hpp"
#include "experiment/search/base_plans.hpp"
#include "experiment/search/bases_by_floor.hpp"
#include "experiment/search/nearest_plan.hpp"
#include "experiment/search/patience.hpp"
#include "experiment/search/plan_space.hpp"
#include "experiment/search/refine.hpp"
#include "experiment/search/rival_specs.hpp"
#include "experiment/search/time_limit.hpp"
#include "experiment/search/trials.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "packing/flexsp/options.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

// Iterations of the first and the second sample of a large data set, and the most iterations of a small one,
// with all of which every plan is simulated.
constexpr std::int64_t kFirstIterations = 32;
constexpr std::int64_t kSecondIterations = 192;
constexpr std::int64_t kSmallIterations = 64;
constexpr std::size_t kMostFinalists = 16;
constexpr std::ptrdiff_t kMostOfStrategy = 8;
constexpr std::size_t kMostClose = 4;
constexpr double kCloseFraction = 0.02;
constexpr double kNearFraction = 0.15;
// The part of a group's length by which plans differ that are tried with the second sample.
constexpr double kFinalPart = 0.125;

// The first samples of a seeded shuffle with so many tokens together.
std::vector<std::int32_t> some_samples(std::span<const std::int32_t> lengths_tokens, std::uint32_t seed,
                                       std::int64_t n_tokens) {
  std::vector<std::int32_t> lengths(lengths_tokens.begin(), lengths_tokens.end());
  Generator generator(seed);
  shuffle(std::span(lengths), generator);
  std::size_t n = 0;
  for (; n < lengths.size() && n_tokens > 0; ++n) n_tokens -= lengths[n];
  lengths.resize(n);
  return lengths;
}

SearchedPlan searched_plan(const TriedPlan& tried, std::int64_t least_lost_tokens, double gpu_days_per_s) {
  SearchedPlan plan{.strategy = tried.candidate.spec.strategy,
                    .plan = *tried.candidate.spec.plan,
                    .groups = {},
                    .gpu_days = tried.epoch_s * gpu_days_per_s,
                    .trains_asked_job = tried.is_asked_job && tried.lost_tokens <= least_lost_tokens};
  for (const PlannedGroup& group : tried.groups) {
    if (group.packs > 0) plan.groups.push_back({group.capacity_tokens, group.sequence, group.gc_layers});
  }
  return plan;
}

// Whether the strategy's own iterations can be run: a planner's have any number of micro-batches each.
bool makes_own_steps(const Scenario& scenario, const StrategySpec& spec) {
  return !chooses_groups(spec) || scenario.trainer == nullptr ||
         scenario.trainer->micro_batches != MicroBatchCounts::run;
}

// Whether packs of several degrees, which the strategy chooses, run in one iteration.
bool mixes_degrees(const StrategySpec& spec) {
  return chooses_groups(spec) || strategy_of(spec).mixes_groups;
}

class Search {
 public:
  Search(const Scenario& scenario, const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens,
         SharedPrices& prices)
      : scenario_(scenario),
        spec_(spec),
        lengths_tokens_(lengths_tokens),
        pricers_(prices.lend()),
        time_limit_(spec.search_time_limit_s) {
    scenario_.training.epochs = 1;
    const std::int64_t longest = lengths_tokens.empty() ? 1 : *std::ranges::max_element(lengths_tokens);
    longest_tokens_ = std::max<std::int64_t>(1, std::min(longest, spec.longest_tokens.value_or(longest)));
    for (const std::int32_t length : lengths_tokens) n_tokens_ += length;
    options_.emplace(scenario_, longest_tokens_, longest_packed_tokens(), most_above_share());
    bases_ = base_plans(scenario_, spec_);
    rivals_ = rival_specs(scenario_, spec_);
  }

  // The best plan, or none if no plan fits.
  std::optional<StrategySpec> best(int epochs) {
    const std::int64_t of_iteration = scenario_.training.tokens_per_iteration;
    if (n_tokens_ <= kSmallIterations * of_iteration) {
      Trials trials(scenario_, samples(lengths_tokens_, false), pricers_, time_limit_);
      add_all(trials);
      refine(refinement(), trials, kMostClose);
      return choose(trials, n_tokens_, epochs);
    }
    const std::vector<std::int32_t> first =
        some_samples(lengths_tokens_, scenario_.seed, kFirstIterations * of_iteration);
    Trials trials(scenario_, samples(first, true), pricers_, time_limit_);
    add_all(trials);
    // Of the plans near the best one, the best is enough: the others would take the places of other plans.
    Trials refined = trials;
    refine(refinement(), refined, kMostClose);
    const std::vector<std::int32_t> second =
        some_samples(lengths_tokens_, scenario_.seed, kSecondIterations * of_iteration);
    const std::int64_t second_tokens = std::min(n_tokens_, kSecondIterations * of_iteration);
    Trials final_trials(scenario_, samples(second, true), pricers_, time_limit_);
    for (const PlanCandidate& finalist : finalists(trials)) final_trials.add(finalist, search_);
    if (!refined.tried().empty() && is_better(refined.tried().front(), trials.tried().front())) {
      PlanCandidate finalist = refined.tried().front().candidate;
      finalist.floor_s = 0;
      final_trials.add(finalist, search_);
    }
    refine_lengths(refinement(), final_trials, kFinalPart);
    for (const TriedPlan& tried : trials.tried()) {
      if (is_own_usual(tried)) final_trials.add(tried.candidate, search_);
    }
    const std::vector<PlanCandidate> close = close_rivals(final_trials);
    std::optional<StrategySpec> best = choose(final_trials, second_tokens, epochs);
    if (close.size() < 2) return best;
    Trials whole_trials(scenario_, samples(lengths_tokens_, false), pricers_, time_limit_);
    for (const PlanCandidate& candidate : close) whole_trials.add(candidate, search_);
    return choose(whole_trials, n_tokens_, epochs);
  }

  PlanSearch&& take_record() { return std::move(search_); }

  // Says why there is no best plan.
  std::string refusal() const {
    const std::string first = refusal_.empty() ? "" : fmt::format("; the first of the others: {}", refusal_);
    return fmt::format("plan: found none among {} plans, of which {} do not fit in memory{}",
                       search_.n_candidates, search_.n_too_large, first);
  }

 private:
  std::int64_t longest_packed_tokens() const {
    if (spec_.over_long != OverLong::drop) return longest_tokens_;
    std::int64_t longest = 1;
    for (const std::int32_t length : lengths_tokens_) {
      if (length <= longest_tokens_) longest = std::max<std::int64_t>(longest, length);
    }
    return longest;
  }

  // Packs may be longer than a rank's share of an iteration if there are so few iterations that each may be a
  // little larger, or if so few samples fill a pack that many of its tokens may stay free.
  std::int64_t most_above_share() const {
    constexpr std::int64_t kFew = 8;
    if (n_tokens_ <= kFew * scenario_.training.tokens_per_iteration)
      return std::numeric_limits<std::int64_t>::max();
    return kFew * n_tokens_ / std::ssize(lengths_tokens_);
  }

  // Reports list the usual plan of the strategy that is searched, not those of its rivals.
  bool is_own_usual(const TriedPlan& tried) const {
    return tried.candidate.is_usual && tried.candidate.spec.strategy == spec_.strategy;
  }

  Samples samples(std::span<const std::int32_t> lengths_tokens, bool are_some) const {
    return samples_of(lengths_tokens, longest_tokens_, spec_.over_long, are_some);
  }

  // Of the planner's rivals, those that stand for the others come first. The others are tried only from the
  // base plans at which these are near the best, and then its own compositions, which take longest to make,
  // from those at which any of them is.
  void add_all(Trials& trials) {
    const std::vector<ParallelPlan>& bases = bases_;
    const bool may_be_own = makes_own_steps(scenario_, spec_);
    const auto first_other = rivals_.begin() + n_scouts(rivals_);
    if (first_other != rivals_.begin()) add_plans_of({rivals_.begin(), first_other}, bases, trials);
    const std::vector<ParallelPlan> near = near_the_best(bases, trials);
    if (first_other != rivals_.end()) add_plans_of({first_other, rivals_.end()}, near, trials);
    if (may_be_own) add_plans_of({&spec_, 1}, near_the_best(near, trials), trials);
    if (may_be_own) add_saving_plans(spec_, bases, trials);
    for (const StrategySpec& rival : rivals_) add_saving_plans(rival, bases, trials);
    if (!may_be_own) return;
    const auto is_own = [&](const TriedPlan& tried) {
      return tried.candidate.spec.strategy == spec_.strategy;
    };
    if (!rivals_.empty() && std::ranges::none_of(trials.tried(), is_own)) add_own_at_best_plans(trials);
  }

  // The base plans from which something was tried that is not far from the best, and the usual one; all if
  // nothing was tried.
  std::vector<ParallelPlan> near_the_best(std::span<const ParallelPlan> bases, const Trials& trials) const {
    std::vector<ParallelPlan> near;
    for (const ParallelPlan& base : bases) {
      const bool is_near = std::ranges::any_of(trials.tried(), [&](const TriedPlan& tried) {
        return plainest(*tried.candidate.spec.plan) == plainest(base) &&
               tried.epoch_s <= (1 + kNearFraction) * trials.tried().front().epoch_s;
      });
      if (is_near || trials.tried().empty() || is_usual_base(scenario_, spec_, base)) near.push_back(base);
    }
    return near;
  }

  // Tries what saves memory for a strategy that mixes degrees, each of whose plans takes long to make. The
  // planner's only if it is the best rival's; otherwise all with the parallelism of its best plan, if that
  // recomputes something, or with any if there is none.
  void add_saving_plans(const StrategySpec& spec, std::span<const ParallelPlan> bases, Trials& trials) {
    if (!mixes_degrees(spec)) return;
    const auto best = std::ranges::find_if(trials.tried(), [&](const TriedPlan& tried) {
      return chooses_groups(spec) || tried.candidate.spec.strategy == spec.strategy;
    });
    const bool is_found = best != trials.tried().end();
    if (is_found && !recomputes(*best)) return;
    std::optional<ParallelPlan> near;
    if (is_found) near = *best->candidate.spec.plan;
    std::vector<ParallelPlan> saving;
    for (const ParallelPlan& base : bases) {
      const bool is_near =
          !near || (chooses_groups(spec) ? base == *near : plainest(base) == plainest(*near));
      if (is_near && !simpler_plans(base, bases).empty()) saving.push_back(base);
    }
    for (const ParallelPlan& plan : saving) add_plans_of({&spec, 1}, {&plan, 1}, trials);
  }

  static bool recomputes(const TriedPlan& tried) {
    return std::ranges::any_of(
        tried.groups, [](const PlannedGroup& group) { return group.packs > 0 && group.gc_layers > 0; });
  }

  // If none of the strategy's own plans can be used, tries it with the parallelism of the best rivals.
  void add_own_at_best_plans(Trials& trials) {
    constexpr std::size_t kMostPlans = 3;
    std::vector<ParallelPlan> plans;
    for (const TriedPlan& tried : trials.tried()) {
      const ParallelPlan& plan = *tried.candidate.spec.plan;
      if (plans.size() < kMostPlans && std::ranges::find(plans, plan) == plans.end()) plans.push_back(plan);
    }
    for (const ParallelPlan& plan : plans) add_plans_of({&spec_, 1}, {&plan, 1}, trials);
  }

  Refinement refinement() { return {spec_, rivals_, bases_, *options_, *pricers_, search_}; }

  // Tries the plans of these strategies from each base plan. As long as no plan rules others out, those that
  // save memory or have virtual stages wait, and are then tried only with the packs of the best plan of their
  // parallelism.
  void add_plans_of(std::span<const StrategySpec> specs, std::span<const ParallelPlan> bases,
                    Trials& trials) {
    WorkFloors floors(trials.counts(), !trials.are_some(), *pricers_);
    const auto waits = [&](const ParallelPlan& base) {
      return bases.size() > 1 && base != root_of(base) && !trials.best_rules_out();
    };
    const std::vector<ParallelPlan> late = look_into(specs, bases, bases, waits, floors, trials);
    if (trials.tried().empty()) {
      look_into(
          specs, late, bases, [](const ParallelPlan&) { return false; }, floors, trials);
      return;
    }
    // With more chunks in a stage, pipelines may take half as long; what saves memory gains less.
    constexpr double kMostTimesBest = 2;
    const std::vector<TriedPlan> tried = trials.tried();
    for (const ParallelPlan& base : late) {
      const auto near = std::ranges::find_if(
          tried, [&](const TriedPlan& one) { return root_of(*one.candidate.spec.plan) == root_of(base); });
      if (near == tried.end() || mixes_degrees(near->candidate.spec)) continue;
      const double most_times = base == plainest(base) ? kMostTimesBest : 1;
      if (near->epoch_s > most_times * tried.front().epoch_s) continue;
      ++search_.n_candidates;
      trials.add(with_base(near->candidate, base), search_);
    }
  }

  // The same packs from another base plan.
  PlanCandidate with_base(PlanCandidate candidate, const ParallelPlan& base) {
    candidate.is_usual = false;
    candidate.floor_s = 0;
    candidate.spec.plan = base;
    for (GroupSpec& group : candidate.spec.groups)
      group = options_->of(base, group.sequence, group.capacity_tokens).group;
    return candidate;
  }

  // Tries the plans from some of the base plans, those of the least floor first. Base plans whose floor is
  // above the best plan are not looked into. Returns those that wait.
  template <typename Waits>
  std::vector<ParallelPlan> look_into(std::span<const StrategySpec> specs, std::span<const ParallelPlan> some,
                                      std::span<const ParallelPlan> bases, Waits waits, WorkFloors& floors,
                                      Trials& trials) {
    BasesByFloor bases_left(some, *options_, floors);
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (is_usual_base(scenario_, spec_, some[i])) bases_left.move_to_front(i);
    }
    std::vector<ParallelPlan> waiting;
    std::multimap<double, PlanCandidate> open;  // of equal floors, those that came first
    Patience patience;
    while (!bases_left.empty() || !open.empty()) {
      if (trials.is_over()) search_.is_cut_short = true;
      if (trials.is_over() || (patience.is_over() && trials.best_rules_out())) {
        search_.n_given_up += std::ssize(open);
        search_.n_bases_given_up += static_cast<std::int64_t>(bases_left.size());
        break;
      }
      if (!bases_left.empty() && (open.empty() || bases_left.least_floor_s() <= open.begin()->first)) {
        if (trials.rules_out(bases_left.least_floor_s())) {
          search_.n_bases_ruled_out += static_cast<std::int64_t>(bases_left.size());
          bases_left.clear();
          continue;
        }
        const ParallelPlan& base = some[bases_left.take()];
        if (waits(base)) {
          waiting.push_back(base);
        } else {
          add_candidates(specs, base, bases, floors, open);
        }
        continue;
      }
      auto node = open.extract(open.begin());
      PlanCandidate& candidate = node.mapped();
      if (!candidate.least_groups.empty() && !trials.rules_out(candidate.floor_s)) {
        node.key() = candidate.floor_s = own_floor_s(candidate, scenario_, floors);
        candidate.least_groups.clear();
        open.insert(std::move(node));
        continue;
      }
      trials.add(candidate, search_);
      if (!trials.tried().empty()) patience.look_at(trials.tried().front().epoch_s);
    }
    return waiting;
  }

  // Whether the same plan with rings is a base plan too. Where no GPUs share documents, both are one plan.
  static bool has_ring_sibling(const ParallelPlan& base, std::span<const ParallelPlan> bases) {
    if (base.key_exchange == KeyExchange::ring) return false;
    ParallelPlan with_rings = base;
    with_rings.key_exchange = KeyExchange::ring;
    return std::ranges::find(bases, with_rings) != bases.end();
  }
  static bool shares_no_documents(const PlanCandidate& candidate) {
    return !candidate.spec.groups.empty() &&
           std::ranges::all_of(candidate.spec.groups,
                               [](const GroupSpec& group) { return group.sequence.ring == 1; });
  }

  // Adds the plans of strategies from one base plan to those that are open, by their floors.
  void add_candidates(std::span<const StrategySpec> specs, const ParallelPlan& base,
                      std::span<const ParallelPlan> bases, WorkFloors& floors,
                      std::multimap<double, PlanCandidate>& open) {
    const std::vector<const ParallelPlan*> simpler = simpler_plans(base, bases);
    PlanSpace space;
    for (const StrategySpec& spec : specs) {
      if (simpler.empty() || !mixes_degrees(spec)) add_plans(spec, base, simpler, *options_, floors, space);
    }
    if (has_ring_sibling(base, bases)) std::erase_if(space.candidates, shares_no_documents);
    search_.count(space.candidates.size(), space.n_too_large);
    for (PlanCandidate& candidate : space.candidates) {
      const double floor_s = candidate.floor_s;
      // The planner's last iterations are shorter, unless the pipeline's have to be full.
      if (chooses_groups(spec_) && !chooses_groups(candidate.spec)) {
        candidate.spec.last_iteration = LastIteration::shorten;
        if (base.schedule().needs_full_rounds)
          open.emplace(floor_s, candidate)->second.spec.last_iteration = LastIteration::repeat;
      }
      open.emplace(floor_s, std::move(candidate));
    }
  }

  // The fastest plans that are worth a second look: the best ones of each strategy, but only one of several
  // plans that take the same time, as those of strategies that pack alike do. Of a strategy that mixes
  // degrees, which forms each iteration by itself, few iterations say more: beside the best one and the next,
  // only close ones.
  static std::vector<PlanCandidate> finalists(const Trials& trials) {
    std::vector<PlanCandidate> finalists;
    std::vector<double> seen_s;
    for (const TriedPlan& tried : trials.tried()) {
      const auto n_known = std::ranges::count_if(finalists, [&](const PlanCandidate& known) {
        return known.spec.strategy == tried.candidate.spec.strategy;
      });
      const double above_best = tried.epoch_s / trials.tried().front().epoch_s - 1;
      if (above_best > kFinalistFraction) break;
      if (above_best > kCloseFraction && n_known >= 2 && mixes_degrees(tried.candidate.spec)) continue;
      const bool is_alike = std::ranges::find(seen_s, tried.epoch_s) != seen_s.end();
      if (is_alike || finalists.size() == kMostFinalists || n_known == kMostOfStrategy) continue;
      seen_s.push_back(tried.epoch_s);
      finalists.push_back(tried.candidate);
      finalists.back().floor_s = 0;
    }
    return finalists;
  }

  // The best plans of the strategies that a sample cannot tell from the best one. Only the planner has the
  // choice between strategies.
  static std::vector<PlanCandidate> close_rivals(const Trials& trials) {
    std::vector<PlanCandidate> close;
    for (const TriedPlan& tried : trials.tried()) {
      if (tried.epoch_s > (1 + kCloseFraction) * trials.tried().front().epoch_s) break;
      const auto is_known = [&](const PlanCandidate& known) {
        return known.spec.strategy == tried.candidate.spec.strategy;
      };
      if (close.size() == kMostClose || std::ranges::any_of(close, is_known)) continue;
      close.push_back(tried.candidate);
      close.back().floor_s = 0;
    }
    return close;
  }

  std::optional<StrategySpec> choose(const Trials& trials, std::int64_t tried_tokens, int epochs) {
    if (trials.tried().empty()) {
      refusal_ = trials.refusal();
      return std::nullopt;
    }
    const double gpu_days_per_s = static_cast<double>(n_tokens_) / static_cast<double>(tried_tokens) *
                                  epochs * scenario_.cluster.n_gpus() / 86400;
    const TriedPlan& best = trials.tried().front();
    const auto searched = [&](const TriedPlan& tried) {
      return searched_plan(tried, best.lost_tokens, gpu_days_per_s);
    };
    search_.tried_tokens = tried_tokens;
    search_.chosen = searched(best);
    const auto runner_up = std::ranges::find_if(trials.tried(), [&](const TriedPlan& tried) {
      const SearchedPlan plan = searched(tried);
      return plan.groups != search_.chosen.groups || plan.plan != search_.chosen.plan;
    });
    if (runner_up != trials.tried().end()) search_.runner_up = searched(*runner_up);
    for (const TriedPlan& tried : trials.tried()) {
      if (is_own_usual(tried) && !search_.usual) search_.usual = searched(tried);
    }
    return best.candidate.spec;
  }

  Scenario scenario_;
  const StrategySpec& spec_;
  std::span<const std::int32_t> lengths_tokens_;
  std::shared_ptr<ScenarioPricers> pricers_;
  TimeLimit time_limit_;
  std::int64_t longest_tokens_ = 1;
  std::optional<GroupOptions> options_;
  std::vector<ParallelPlan> bases_;
  std::vector<StrategySpec> rivals_;
  std::int64_t n_tokens_ = 0;
  PlanSearch search_;
  std::string refusal_;
};

// The best plan that leaves as much memory free as the scenario and the strategy ask for. refusal: set where
// there is none.
std::optional<FoundPlan> best_plan(const Scenario& scenario, const StrategySpec& spec,
                                   std::span<const std::int32_t> lengths_tokens, SharedPrices& prices,
                                   PackCache* known, std::string& refusal) {
  Search search(scenario, spec, lengths_tokens, prices);
  std::optional<StrategySpec> best = search.best(scenario.training.epochs);
  if (!best && chooses_groups(spec) && scenario.trainer == nullptr) {
    PlannedStrategy own = plan_strategy(scenario, spec, lengths_tokens, *prices.lend());
    // It has several groups where something fits.
    if (std::ranges::any_of(own.groups, &PlannedGroup::fits_with_margin))
      return FoundPlan{.spec = spec, .plan = std::move(own)};
  }
  if (!best) {
    refusal = search.refusal();
    return std::nullopt;
  }
  for (GroupSpec& group : best->groups) group.gc_layers.reset();
  best->curriculum_iterations = spec.curriculum_iterations;
  best->repack_each_epoch = spec.repack_each_epoch;
  return FoundPlan{.spec = *best,
                   .plan = plan_strategy(scenario, *best, lengths_tokens, *prices.lend(), known),
                   .search = search.take_record()};
}

// The margin is how a plan was found. It says nothing of how the plan runs.
void reset_memory_margin(FoundPlan& found) {
  if (found.spec.plan) found.spec.plan->memory_margin = 0;
  for (ParallelPlan& plan : found.plan.plans) plan.memory_margin = 0;
  if (!found.search) return;
  found.search->chosen.plan.memory_margin = 0;
  for (auto* other : {&found.search->runner_up, &found.search->usual, &found.search->may_fit})
    if (*other) (*other)->plan.memory_margin = 0;
}

// The best plan whose estimate just fits or, if there is none, the best one that may fit.
std::optional<FoundPlan> plan_that_may_fit(const Scenario& scenario, const StrategySpec& spec,
                                           std::span<const std::int32_t> lengths_tokens, SharedPrices& prices,
                                           PackCache* known) {
  constexpr double kNone = 1e-6;  // as 0 asks for the usual one
  const ParallelPlan& base = base_plan(scenario, spec);
  for (const double margin : {kNone, least_memory_margin(base, memory_assumptions(scenario))}) {
    Scenario roomier = scenario;
    roomier.plan.memory_margin = margin;
    for (StrategySpec& other : roomier.strategies) {
      if (other.plan) other.plan->memory_margin = margin;
    }
    StrategySpec own = spec;
    if (own.plan) own.plan->memory_margin = margin;
    std::string refusal;
    if (auto found = best_plan(roomier, own, lengths_tokens, prices, known, refusal)) {
      reset_memory_margin(*found);
      return found;
    }
  }
  return std::nullopt;
}

// Says which plan is faster than one with states in host memory, if it may fit. The latter take several times
// as long, so that a few percent of memory decide.
void add_plan_that_may_fit(const Scenario& scenario, const StrategySpec& spec,
                           std::span<const std::int32_t> lengths_tokens, SharedPrices& prices,
                           FoundPlan& found) {
  constexpr double kClearlyFaster = 0.05;
  if (!found.search || found.search->is_cut_short || base_plan(scenario, spec).memory_margin != 0) return;
  const SearchedPlan& chosen = found.search->chosen;
  const Offload& offload = chosen.plan.offload;
  if (!offload.optimizer && !offload.gradients && !offload.weights) return;
  const auto other = plan_that_may_fit(scenario, spec, lengths_tokens, prices, nullptr);
  if (!other || !other->search || other->search->chosen.trains_asked_job != chosen.trains_asked_job) return;
  if ((1 + kClearlyFaster) * other->search->chosen.gpu_days < chosen.gpu_days)
    found.search->may_fit = other->search->chosen;
}

}  // namespace

FoundPlan find_plan(const Scenario& scenario, const StrategySpec& spec,
                    std::span<const std::int32_t> lengths_tokens, SharedPrices& prices, PackCache* known) {
  if (!has_open_groups(spec))
    return {.spec = spec, .plan = plan_strategy(scenario, spec, lengths_tokens, *prices.lend(), known)};
  std::string refusal;
  if (auto found = best_plan(scenario, spec, lengths_tokens, prices, known, refusal)) {
    add_plan_that_may_fit(scenario, spec, lengths_tokens, prices, *found);
    return *std::move(found);
  }
  NearestPlan nearest = nearest_plan(scenario, spec, lengths_tokens);
  if (nearest.may_fit && base_plan(scenario, spec).memory_margin == 0) {
    if (auto found = plan_that_may_fit(scenario, spec, lengths_tokens, prices, known))
      return *std::move(found);
  }
  if (chooses_groups(spec) && scenario.trainer == nullptr) {
    nearest.spec.zero_stages.clear();  // the plan has the stage
    return {.spec = nearest.spec,
            .plan = plan_strategy(scenario, nearest.spec, lengths_tokens, *prices.lend())};
  }
  PlannedStrategy longest = plan_what_does_not_fit(scenario, nearest.spec, lengths_tokens);
  if (fits(longest)) throw std::invalid_argument(refusal);
  return {.spec = nearest.spec, .plan = std::move(longest)};
}

}  // namespace packsim
