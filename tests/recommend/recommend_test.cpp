// Which cluster and plan a job should have: the answer is that of simulating all of them.
#include "recommend/recommend.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "experiment/compare_strategies.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "recommend/known_candidates.hpp"
#include "recommend/recommendation_text.hpp"
#include "recommend/sensitivity.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/paths.hpp"
#include "tests/scenarios/temp_folder.hpp"

using namespace packsim;

namespace {

using Settings = std::vector<std::string>;

// A shipped scenario with some of its strategies and so many samples of each source.
struct Sample {
  std::string scenario;
  std::vector<std::string> strategies;
  Settings settings;
};

Scenario loaded(const Sample& sample, const Settings& more) {
  Settings settings = sample.settings;
  std::ranges::copy(more, std::back_inserter(settings));
  Scenario scenario = load_scenario(sample.scenario, DataPaths{.root = packsim_test::source_dir()}, settings,
                                    MistakenStrategies::leave_out);
  std::vector<std::string> kept = sample.strategies;
  const auto is_kept = [&](const RefusedStrategy& one) {
    return std::ranges::find(kept, one.name) != kept.end();
  };
  std::erase_if(scenario.refused_strategies, [&](const RefusedStrategy& one) { return !is_kept(one); });
  for (const RefusedStrategy& refused : scenario.refused_strategies) std::erase(kept, refused.name);
  if (kept.empty()) throw ScenarioError(scenario.refused_strategies.front().messages);
  keep_strategies(scenario, kept);
  return scenario;
}

// At the plans of HBP's paper.
Sample of_mixture(std::vector<std::string> strategies) {
  return {
      .scenario = "llama3.1-8b-real-mixture-128k",
      .strategies = std::move(strategies),
      .settings = {"packing.plan=given", R"(strategies=[
            {"strategy": "isf", "capacity_tokens": 131072, "sp_degree": 8},
            {"strategy": "hbp", "groups": [{"capacity_tokens": 16384, "sp_degree": 1},
                                           {"capacity_tokens": 131072, "sp_degree": 8}]},
            {"strategy": "planner"}])",
                   "lengths.mix.0.count=1500", "lengths.mix.1.count=30", "packing.last_iteration=shorten"}};
}

Sample of_scenario(const std::string& scenario, std::vector<std::string> strategies, Settings settings) {
  settings.emplace_back("packing.last_iteration=shorten");
  return {.scenario = scenario, .strategies = std::move(strategies), .settings = std::move(settings)};
}

Question two_offers(std::vector<int> node_counts) {
  return {.offers = {{"h100-sxm-80gb", 2.5}, {"h200-sxm-141gb", 3.2}},
          .node_counts = std::move(node_counts),
          .limits = {}};
}

Recommendation answer(const Sample& sample, const Question& question) {
  return recommend([&](const Settings& settings) { return loaded(sample, settings); }, question,
                   {.n_threads = 2});
}

// The best of all clusters, and the fewest GPUs, by trying each.
struct Best {
  const Candidate* candidate = nullptr;
  std::optional<int> fewest_gpus = {};
};

Best best_by_hand(std::vector<Candidate>& all, const Limits& limits, Goal goal) {
  Best best;
  for (Candidate& candidate : all) {
    if (!candidate.is_comparable()) continue;
    judge(limits, candidate);
    const bool is_within = candidate.n_gpus <= limits.most_gpus.value_or(candidate.n_gpus);
    if (candidate.standing != Standing::meets || !is_within) continue;
    if (best.candidate == nullptr || is_better(goal, candidate, *best.candidate)) best.candidate = &candidate;
    best.fewest_gpus = std::min(best.fewest_gpus.value_or(candidate.n_gpus), candidate.n_gpus);
  }
  return best;
}

// Limits that some clusters keep to and some do not, from the answers of all clusters.
std::vector<Limits> telling_limits(const Recommendation& all) {
  std::vector<const Candidate*> sorted;
  for (const Candidate& candidate : all.candidates) {
    if (candidate.is_comparable()) sorted.push_back(&candidate);
  }
  std::ranges::sort(sorted, {}, [](const Candidate* one) { return one->times->wall_hours_high; });
  REQUIRE(sorted.size() > 4);
  const CandidateTimes& middle = *sorted[sorted.size() / 2]->times;
  const CandidateTimes& fastest = *sorted.front()->times;
  return {
      {.most_gpus = {}, .deadline_hours = middle.wall_hours_high, .budget = {}},
      {.most_gpus = {}, .deadline_hours = {}, .budget = middle.money_high},
      {.most_gpus = {}, .deadline_hours = 1.5 * middle.wall_hours_high, .budget = 1.1 * *middle.money_high},
      {.most_gpus = {}, .deadline_hours = fastest.wall_hours_high / 10, .budget = {}},
      {.most_gpus = 24, .deadline_hours = {}, .budget = {}}};
}

void check_bounds(const Recommendation& all) {
  for (const Candidate& candidate : all.candidates) {
    if (!candidate.is_comparable()) continue;
    CAPTURE(candidate.offer, candidate.nodes, candidate.strategy);
    CHECK(candidate.least_gpu_hours > 0);
    CHECK(24 * candidate.times->gpu_days >= candidate.least_gpu_hours);
  }
}

// Over all limits, the best is that of all clusters, and some are not simulated to find it.
void check_against_all(const Sample& sample, Question question, const std::vector<Goal>& goals,
                       std::size_t n_limits) {
  question.simulates_all = true;
  Recommendation all = answer(sample, question);
  check_bounds(all);
  question.simulates_all = false;
  std::size_t n_left_out = 0;
  std::vector<Limits> asked = telling_limits(all);
  asked.resize(std::min(asked.size(), n_limits));
  for (const Limits& limits : asked) {
    for (const Goal goal : goals) {
      question.limits = limits;
      question.goal = goal;
      const Recommendation found = answer(sample, question);
      const Best best = best_by_hand(all.candidates, limits, goal);
      CAPTURE(sample.scenario, limits.deadline_hours.value_or(0), limits.budget.value_or(0),
              limits.most_gpus.value_or(0), static_cast<int>(goal));
      REQUIRE(found.ranking.empty() == (best.candidate == nullptr));
      CHECK(found.fewest_gpus == best.fewest_gpus);
      n_left_out += static_cast<std::size_t>(std::ranges::count_if(
          found.candidates, [](const Candidate& candidate) { return candidate.strategy.empty(); }));
      if (found.ranking.empty()) continue;
      const Candidate& first = found.candidates[found.ranking.front()];
      CHECK(first.offer == best.candidate->offer);
      CHECK(first.nodes == best.candidate->nodes);
      CHECK(first.strategy == best.candidate->strategy);
      CHECK(first.times->gpu_days == best.candidate->times->gpu_days);
    }
  }
  CHECK(n_left_out > 0);
}

Candidate with_times(double wall_hours, double wall_hours_high, double money, double money_high) {
  Candidate candidate;
  candidate.times = CandidateTimes{.wall_hours = wall_hours, .wall_hours_high = wall_hours_high};
  candidate.times->money = money;
  candidate.times->money_high = money_high;
  return candidate;
}

}  // namespace

TEST_CASE("the best cluster and the fewest GPUs are those of simulating all clusters", "[plain]") {
  check_against_all(of_mixture({"isf", "hbp"}), two_offers({1, 2, 4}), {Goal::cheapest}, 2);
}

// One cluster is simulated before the time is over.
TEST_CASE("an answer that is wanted early says what is known, and what may be better") {
  const Sample sample = of_mixture({"isf"});
  Question question = two_offers({1, 2, 4});
  question.limits.deadline_hours = 1000;
  const Recommendation all = answer(sample, question);
  CHECK(all.is_complete);
  int n_begun = 0;
  RecommendOptions options;
  options.progress = [&](const std::string& what) { n_begun += what.starts_with("bounds") ? 0 : 1; };
  options.is_over = [&] { return n_begun > 1; };
  const auto load = [&](const Settings& settings) { return loaded(sample, settings); };
  const Recommendation early = recommend(load, question, options);
  CHECK_FALSE(early.is_complete);
  REQUIRE(early.ranking.size() == 1);
  const Candidate& best = early.candidates[early.ranking.front()];
  const auto same = std::ranges::find_if(all.candidates, [&](const Candidate& candidate) {
    return candidate.offer == best.offer && candidate.nodes == best.nodes && candidate.times;
  });
  REQUIRE(same != all.candidates.end());
  CHECK(same->times->gpu_days == best.times->gpu_days);
  CHECK(early.report.runs.front().times->gpu_days == best.times->gpu_days);
  int n_not_reached = 0;
  for (const Candidate& candidate : early.candidates) {
    if (candidate.standing != Standing::not_reached) continue;
    ++n_not_reached;
    CHECK_FALSE(candidate.times);
    const double least_money = candidate.least_gpu_hours * *question.offers[candidate.offer].gpu_hour_price;
    CHECK(least_money > 0);
    CHECK(least_money <= *best.times->money);
  }
  CHECK(n_not_reached > 0);
  // What the early answer knows is not simulated again, and the whole answer is the same.
  const TempFolder folder;
  RecommendOptions resumed;
  resumed.known = known_candidates(folder.write("r.json", recommendation_json(early, {}, "")));
  const Recommendation whole = recommend(load, question, resumed);
  CHECK(whole.n_known == 1);
  CHECK(whole.is_complete);
  CHECK(recommendation_json(whole, {}, "") == recommendation_json(all, {}, ""));
  resumed.version = "another";
  CHECK(recommend(load, question, resumed).n_known == 0);
  resumed.version.clear();
  // Other limits: the known times are judged anew.
  question.limits.deadline_hours = best.times->wall_hours / 2;
  question.simulates_all = true;  // or its bound rules it out
  const Recommendation sooner = recommend(load, question, resumed);
  CHECK(sooner.n_known == 1);
  const auto same_cluster = std::ranges::find_if(sooner.candidates, [&](const Candidate& candidate) {
    return candidate.offer == best.offer && candidate.nodes == best.nodes;
  });
  REQUIRE(same_cluster != sooner.candidates.end());
  CHECK(same_cluster->standing == Standing::misses);
  question.simulates_all = false;
  question.limits.deadline_hours = 1000;
  options.is_over = [] { return true; };
  const Recommendation none = recommend(load, question, options);
  CHECK_FALSE(none.is_complete);
  CHECK(none.ranking.empty());
  CHECK(std::ranges::count(none.candidates, Standing::not_reached, &Candidate::standing) == 6);
}

// The answer has the baseline alone, which is the last of three strategies.
TEST_CASE("a cluster that was begun is gone on with, and the whole answer is the same") {
  const Sample sample =
      of_scenario("llama3.1-8b-tulu3-4k", {"random", "sorted", "isf"}, {"lengths.mix.0.count=20000"});
  Question question = two_offers({1});
  question.limits.deadline_hours = 1000;
  const auto load = [&](const Settings& settings) { return loaded(sample, settings); };
  const Recommendation all = recommend(load, question);
  const TempFolder folder;
  Recommendation early = all;
  for (Candidate& candidate : early.candidates) {
    if (candidate.strategy == "isf") continue;
    candidate = {.offer = candidate.offer,
                 .nodes = 1,
                 .n_gpus = candidate.n_gpus,
                 .strategy = candidate.strategy,
                 .standing = Standing::not_reached,
                 .job_hash = candidate.job_hash};
  }
  RecommendOptions resumed;
  resumed.known = known_candidates(folder.write("r.json", recommendation_json(early, {}, "")));
  const Recommendation whole = recommend(load, question, resumed);
  CHECK(whole.n_known == 2);
  CHECK(recommendation_json(whole, {}, "") == recommendation_json(all, {}, ""));
  // Where the baseline is missing or trains nothing, the others were compared with another run.
  for (Candidate& candidate : resumed.known) {
    if (candidate.strategy != "isf") continue;
    candidate.standing = Standing::does_not_fit;
    candidate.times.reset();
  }
  CHECK(recommend(load, question, resumed).n_known == 0);
  std::erase_if(resumed.known, [](const Candidate& candidate) { return candidate.strategy == "isf"; });
  CHECK(recommend(load, question, resumed).n_known == 0);
}

TEST_CASE("an earlier answer is known whatever the time, the terms and the ends of its runs") {
  const Sample sample = of_mixture({"isf"});
  Question question = two_offers({1});
  question.limits.deadline_hours = 1000;
  question.limits.budget = 1e6;
  const auto load = [&](const Settings& settings) { return loaded(sample, settings); };
  const Recommendation all = recommend(load, question);
  const TempFolder folder;
  const auto known_of = [&](const nlohmann::json& answer) {
    return known_candidates(folder.write("r.json", answer.dump()));
  };
  const nlohmann::json answer = nlohmann::json::parse(recommendation_json(all, {}, ""));
  RecommendOptions resumed;
  resumed.known = known_of(answer);
  SECTION("no time is left for the bounds") {
    resumed.is_over = [] { return true; };
    const Recommendation known = recommend(load, question, resumed);
    CHECK(known.n_known == 2);
    REQUIRE(known.ranking == all.ranking);
    CHECK(known.report.runs.front().times->gpu_days == all.report.runs.front().times->gpu_days);
  }
  SECTION("two terms of one price are one job") {
    question.offers = {question.offers[0], question.offers[0]};
    question.offers[0].term = "on demand";
    question.offers[1].term = "reserved";
    resumed.known = known_of(nlohmann::json::parse(recommendation_json(recommend(load, question), {}, "")));
    const Recommendation known = recommend(load, question, resumed);
    CHECK(known.n_known == 2);
    CHECK(known.candidates.size() == 2);
  }
  SECTION("a run that never ends misses all limits") {
    nlohmann::json endless = answer;
    for (nlohmann::json& candidate : endless["candidates"]) {
      for (auto& [key, value] : candidate["times"].items()) value = nullptr;
    }
    question.simulates_all = true;
    resumed.known = known_of(endless);
    const Recommendation known = recommend(load, question, resumed);
    CHECK(known.n_known == 2);
    for (const Candidate& candidate : known.candidates) CHECK(candidate.standing == Standing::misses);
  }
  SECTION("a comparable candidate without times is refused") {
    nlohmann::json damaged = answer;
    damaged["candidates"][0]["times"] = nullptr;
    CHECK_THROWS_AS(known_of(damaged), ScenarioError);
  }
}

TEST_CASE("a planner's best cluster is that of simulating all clusters", "[slow]") {
  check_against_all(of_mixture({"isf", "planner"}), two_offers({1, 2, 4}), {Goal::cheapest}, 3);
}

// Fewer samples of shipped scenarios; a deadline, a budget, both, a deadline that none keeps, and a GPU
// limit.
TEST_CASE("a model that memory binds has the best of all clusters", "[slow]") {
  check_against_all(of_scenario("llama3.1-70b-hybrid-128k", {"isf-sp8", "hbp-sp8"},
                                {"lengths.mix.0.count=4000", "lengths.mix.1.count=40"}),
                    two_offers({2, 4, 8}), {Goal::cheapest, Goal::fastest}, 5);
}

TEST_CASE("a model with experts has the best of all clusters", "[slow]") {
  check_against_all(
      of_scenario("deepseek-v2-tulu3-32k", {"isf-sp8", "hbp-sp8"}, {"lengths.mix.0.count=12000"}),
      two_offers({16, 32, 64}), {Goal::cheapest}, 4);
}

TEST_CASE("a job of long contexts has the best of all clusters", "[slow]") {
  check_against_all(
      of_scenario("llama3.1-8b-long-requests-128k", {"isf", "planner"}, {"lengths.mix.0.count=300"}),
      two_offers({1, 2, 4}), {Goal::cheapest}, 2);
}

TEST_CASE("limits are kept to by the upper ends of intervals") {
  Candidate candidate = with_times(40, 50, 100, 125);
  judge({.most_gpus = {}, .deadline_hours = 50, .budget = 125}, candidate);
  CHECK(candidate.standing == Standing::meets);
  CHECK(candidate.reason.empty());
  judge({.most_gpus = {}, .deadline_hours = 45, .budget = 110}, candidate);
  CHECK(candidate.standing == Standing::misses);
  CHECK(candidate.reason == "up to 50.0 h of 45.0; costs up to 125 of 110");
}

TEST_CASE("the chance to keep to limits follows from the interval, and the worst limit counts") {
  // From 8 to 12.5 h, 10 in the middle: the ends are 1.645 standard deviations of the logarithm away.
  const CandidateTimes times{.wall_hours = 10,
                             .wall_hours_low = 8,
                             .wall_hours_high = 12.5,
                             .gpu_days = 1,
                             .money = 100,
                             .money_low = 80,
                             .money_high = 125};
  const auto chance = [&](std::optional<double> hours, std::optional<double> budget) {
    return chance_to_meet({.most_gpus = {}, .deadline_hours = hours, .budget = budget}, times);
  };
  CHECK_FALSE(chance({}, {}));
  CHECK(chance(10, {}).value() == Approx(0.5));
  CHECK(chance(12.5, {}).value() == Approx(0.95).epsilon(1e-4));
  CHECK(chance(8, {}).value() == Approx(0.05).epsilon(1e-3));
  CHECK(chance(1000, 125).value() == Approx(0.95).epsilon(1e-4));
  CHECK(chance(10, 125).value() == Approx(0.5));
  const CandidateTimes certain{.wall_hours = 10, .wall_hours_low = 10, .wall_hours_high = 10};
  CHECK(chance_to_meet({.most_gpus = {}, .deadline_hours = 10.0, .budget = {}}, certain) == 1.0);
  CHECK(chance_to_meet({.most_gpus = {}, .deadline_hours = 9.9, .budget = {}}, certain) == 0.0);
}

TEST_CASE("the cheapest of equals is the fastest, and the other way round") {
  const Candidate cheap = with_times(40, 50, 100, 125);
  const Candidate cheap_and_slow = with_times(41, 50, 100, 125);
  const Candidate fast = with_times(10, 20, 200, 225);
  CHECK(is_better(Goal::cheapest, cheap, cheap_and_slow));
  CHECK(is_better(Goal::cheapest, cheap_and_slow, fast));
  CHECK(is_better(Goal::fastest, fast, cheap));
  CHECK_FALSE(is_better(Goal::fastest, cheap, cheap));
}

TEST_CASE("the front has what nothing beats in both hours and money", "[plain]") {
  Question question = two_offers({1, 2, 4});
  question.simulates_all = true;
  const Recommendation found = answer(of_mixture({"isf", "hbp"}), question);
  REQUIRE_FALSE(found.pareto.empty());
  for (std::size_t c = 0; c < found.candidates.size(); ++c) {
    const Candidate& candidate = found.candidates[c];
    if (!candidate.is_comparable()) continue;
    const bool is_beaten = std::ranges::any_of(found.candidates, [&](const Candidate& other) {
      return other.is_comparable() && other.times->wall_hours <= candidate.times->wall_hours &&
             other.times->cost() <= candidate.times->cost() && is_better(Goal::fastest, other, candidate);
    });
    CHECK(is_beaten == (std::ranges::find(found.pareto, c) == found.pareto.end()));
  }
}

TEST_CASE("all mistakes of a question are said at once") {
  const Question question = {.offers = {{"h100-sxm-80gb", -1.0}, {"h100-sxm-80gb", {}}},
                             .node_counts = {0},
                             .limits = {.most_gpus = 0, .deadline_hours = -3, .budget = {}}};
  CHECK(mistakes_of(question) ==
        std::vector<std::string>{
            "gpus: h100-sxm-80gb: expected a price above 0, got -1",
            "gpus: h100-sxm-80gb: expected each type once", "nodes: expected integers in 1..65536, got 0",
            "gpus: expected a price for all types or for none", "deadline: expected a number above 0, got -3",
            "max-gpus: expected at least 1, got 0"});
  CHECK(
      mistakes_of({.offers = {{"a", {}}, {"b", {}}},
                   .node_counts = {1},
                   .limits = {.most_gpus = {}, .deadline_hours = {}, .budget = 5}}) ==
      std::vector<std::string>{"gpus: expected prices, as GPU-days of different GPUs are not the same money",
                               "budget: expected prices of the GPUs as well"});
  CHECK(mistakes_of({.offers = {}, .node_counts = {}, .limits = {}}) ==
        std::vector<std::string>{"gpus: expected at least one type of cluster, got none"});
  CHECK(mistakes_of({.offers = {{"a", {}}}, .node_counts = {}, .limits = {}}) ==
        std::vector<std::string>{"nodes: expected at least one number, got none"});
}

TEST_CASE("a cluster on which the scenario is refused is a candidate with the reason") {
  Sample sample = of_mixture({"isf"});
  sample.settings.emplace_back("strategies.isf.sp_degree=16");
  Question question = two_offers({1, 2});
  question.offers.pop_back();
  question.limits.deadline_hours = 1000;
  const Recommendation found = answer(sample, question);
  REQUIRE(found.candidates.size() == 2);
  CHECK(found.candidates[0].standing == Standing::refused);
  CHECK(found.candidates[0].reason.find("sp_degree") != std::string::npos);
}

TEST_CASE("a strategy that a small cluster does not allow leaves the others their answer there") {
  // 16 GPUs that share a pack are more than one node has.
  Sample sample = of_mixture({"isf", "hbp"});
  sample.settings.emplace_back("strategies.isf.sp_degree=16");
  Question question = two_offers({1, 2});
  question.offers.pop_back();
  question.limits.deadline_hours = 1000;
  question.simulates_all = true;
  const Recommendation found = answer(sample, question);
  REQUIRE(found.candidates.size() == 4);
  const auto of = [&](const std::string& strategy, int nodes) {
    return *std::ranges::find_if(found.candidates, [&](const Candidate& candidate) {
      return candidate.strategy == strategy && candidate.nodes == nodes;
    });
  };
  CHECK(of("isf", 1).standing == Standing::refused);
  CHECK_THAT(of("isf", 1).reason, Catch::Contains("sp_degree: expected 1..8, got 16"));
  for (const int nodes : {1, 2}) CHECK(of("hbp", nodes).standing == Standing::meets);
  CHECK(of("isf", 2).standing == Standing::meets);
  // The same times as without the other strategy.
  const Recommendation alone = answer(of_mixture({"hbp"}), question);
  CHECK(alone.candidates.front().times->gpu_days == of("hbp", 1).times->gpu_days);
}

TEST_CASE("the work of the clusters that bounds leave is estimated before they are simulated") {
  const Sample sample = of_mixture({"isf"});
  const auto estimate = [&](double deadline_hours) {
    Question question = two_offers({1, 2});
    question.limits.deadline_hours = deadline_hours;
    std::vector<double> estimates;
    recommend([&](const Settings& settings) { return loaded(sample, settings); }, question,
              {.n_threads = 1, .estimated = [&](double most_work_s) { estimates.push_back(most_work_s); }});
    REQUIRE(estimates.size() == 1);
    return estimates.front();
  };
  CHECK(estimate(1000) > 0);
  CHECK(estimate(0.001) == 0);  // no cluster is left
}

TEST_CASE("a strategy that no cluster allows is a mistake") {
  Sample sample = of_mixture({"isf", "hbp"});
  sample.settings.emplace_back("strategies.isf.sp_degree=3");
  Question question = two_offers({1, 2});
  question.limits.deadline_hours = 1000;
  CHECK_THROWS_WITH(answer(sample, question), Catch::Contains("--set strategies.isf.sp_degree: expected"));
}

TEST_CASE("a type that does not exist and too few GPUs are errors") {
  Question question = two_offers({1});
  question.offers[1].type = "h300";
  CHECK_THROWS(answer(of_mixture({"isf"}), question));
  question.offers.pop_back();
  question.limits.most_gpus = 4;
  CHECK_THROWS_WITH(answer(of_mixture({"isf"}), question),
                    "max-gpus: expected at least as many GPUs as a node has, got fewer");
}

TEST_CASE("what the answer depends on is what a run with these settings takes", "[plain]") {
  const Sample sample = of_mixture({"hbp"});
  Question question = two_offers({2, 4});
  question.limits.deadline_hours = 1000;
  const auto load = [&](const Settings& settings) { return loaded(sample, settings); };
  const Recommendation found = recommend(load, question);
  const Candidate& best = found.candidates[found.ranking.front()];
  const std::vector<Sensitivity> all = sensitivity_of(load, found);
  std::vector<std::string> names;
  for (const Sensitivity& of : all) names.push_back(of.what);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"GPU memory", "accuracy of the times", "links in a node",
                                          "network cards", "samples of mixture_real_long_2k.csv"});
  for (const Sensitivity& of : all) {
    for (const ChangedCase* changed : {&of.less, &of.more}) {
      CAPTURE(of.what, changed->what, changed->reason);
      if (!changed->times) continue;
      if (of.what == "accuracy of the times") {
        CHECK(changed->times->wall_hours ==
              Approx(changed == &of.less ? best.times->wall_hours_low : best.times->wall_hours_high));
      } else {
        Settings settings = settings_of(question.offers[best.offer], best.nodes);
        std::ranges::copy(changed->settings, std::back_inserter(settings));
        CHECK(changed->times->gpu_days == simulate_strategy(load(settings), "hbp").times->gpu_days);
      }
    }
  }
}
