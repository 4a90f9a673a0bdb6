// Scenarios with a mixture: what is drawn, how windows are packed, and what rewards cost.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/mixing/window_plans.hpp"
#include "experiment/shared_work.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "sim/run/probe_burst.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using Catch::Matchers::Contains;

// 300 short samples with levels 1 to 3, and 40 long ones.
void write_mixture_sources(const TempFolder& folder) {
  std::string text = "tokens,level\n";
  for (int i = 0; i < 300; ++i)
    text += std::to_string(200 + 7 * (i % 100)) + "," + std::to_string(1 + i % 3) + "\n";
  folder.write("short.csv", text);
  text = "tokens,score\n";
  for (int i = 0; i < 40; ++i) text += std::to_string(3000 + 250 * i) + "," + std::to_string(40 - i) + ".5\n";
  folder.write("long.csv", text);
}

// 2 % long samples, and half of them from step 8 on.
constexpr const char* kMixtureTrace =
    R"({"step": 0, "probabilities": {"subsets": {"short": 0.98, "long": 0.02}}})"
    "\n"
    R"({"step": 8, "probabilities": {"subsets": {"short": 0.5, "long": 0.5}}, "rewards": {"subsets": {"short": 1, "long": 3}}})"
    "\n";

struct MixtureParts {
  std::string mixing =
      R"({"policy": "recorded", "trace": "trace.jsonl", "draws": 900, "update_every_steps": 4})";
  std::string strategies = R"({"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2})";
  std::string short_groups = "";
  std::string packing = R"({"over_long": "error"})";
  std::string trace = kMixtureTrace;
};

std::string mixture_scenario_text(const MixtureParts& parts) {
  return R"({"format": 1, "name": "mixture", "model": "llama3.1-8b",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 65536, "zero_stage": 3},
    "lengths": {"mix": [{"name": "short", "source": "short.csv")" +
         parts.short_groups + R"(}, {"name": "long", "source": "long.csv"}]},
    "mixing": )" +
         parts.mixing + R"(, "packing": )" + parts.packing + R"(, "strategies": [)" + parts.strategies + "]}";
}

class MixtureJob {
 public:
  explicit MixtureJob(const MixtureParts& parts = {}) {
    write_mixture_sources(folder_);
    folder_.write("trace.jsonl", parts.trace);
    folder_.write("job.json", mixture_scenario_text(parts));
  }
  Scenario scenario() const { return load_scenario(folder_.path() + "/job.json", packsim_test::kData); }
  MixedDraws draws() const { return draw_mixture(scenario()); }

 private:
  TempFolder folder_;
};

constexpr const char* kHbo =
    R"({"policy": "hbo", "draws": 900, "update_every_steps": 4, "actor_steps": 2000,
        "curves": [{"start": 1, "end": 0.5, "half_life_draws": 300}, {"subset": "long", "start": 4, "end": 3, "half_life_draws": 300}])";

std::string hbo_mixing(const std::string& more = "") {
  return std::string(kHbo) + more + "}";
}

std::int64_t sum_of_lengths(std::span<const std::int32_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("a window of draws has the tokens of its steps, and every draw is in one window") {
  const MixedDraws draws = MixtureJob().draws();
  REQUIRE(draws.windows.size() > 3);
  CHECK(draws.samples.size() == 900);
  std::size_t next = 0;
  for (std::size_t w = 0; w < draws.windows.size(); ++w) {
    const MixtureWindow& window = draws.windows[w];
    CHECK(window.first_draw == next);
    CHECK(window.first_step == static_cast<std::int64_t>(4 * w));
    next += window.n_draws;
    const auto lengths = std::span(draws.lengths_tokens).subspan(window.first_draw, window.n_draws);
    if (w + 1 == draws.windows.size()) continue;
    // 4 steps of 65 536 tokens; without its last draw the window would have fewer.
    CHECK(sum_of_lengths(lengths) >= 4 * 65536);
    CHECK(sum_of_lengths(lengths) - lengths.back() < 4 * 65536);
  }
  CHECK(next == 900);
  // Recorded: 2 % long up to step 8, half of the draws from then on.
  CHECK(draws.windows[1].probabilities.subsets[1] == Approx(0.02));
  CHECK(draws.windows[2].probabilities.subsets[1] == Approx(0.5));
}

TEST_CASE("groups are the values of a column, quantiles of it, or given parts") {
  const auto groups_of = [](const std::string& groups) {
    const MixedDraws draws = MixtureJob({.short_groups = R"(, "groups": )" + groups}).draws();
    std::vector<std::size_t> sizes;
    for (std::size_t g = 0; g < draws.arms.n_groups(0); ++g)
      sizes.push_back(draws.arms.samples(draws.arms.arm(0, g)).size());
    return sizes;
  };
  using Sizes = std::vector<std::size_t>;
  CHECK(groups_of(R"({"column": "level"})") == Sizes{100, 100, 100});
  CHECK(groups_of(R"({"quantiles": 4, "column": "level"})") == Sizes{75, 75, 75, 75});
  CHECK(groups_of(R"({"quantiles": 7})") == Sizes{43, 43, 43, 43, 43, 43, 42});
  CHECK(groups_of(R"({"parts": [50, 250]})") == Sizes{50, 250});
  // By length: every sample of a quantile is at least as long as all of the one before.
  const MixedDraws draws = MixtureJob({.short_groups = R"(, "groups": {"quantiles": 3})"}).draws();
  std::int32_t longest_before = 0;
  for (std::size_t g = 0; g < 3; ++g) {
    std::int32_t longest = 0;
    for (const std::uint32_t sample : draws.arms.samples(g)) {
      CHECK(draws.sample_lengths_tokens[sample] >= longest_before);
      longest = std::max(longest, draws.sample_lengths_tokens[sample]);
    }
    longest_before = longest;
  }
}

TEST_CASE("assumed rewards follow the draws of each arm and move hbo towards what is left to learn") {
  const MixedDraws draws = MixtureJob({.mixing = hbo_mixing()}).draws();
  std::int64_t n_long = 0;
  for (std::size_t w = 1; w < draws.windows.size(); ++w) {
    const MixtureWindow& before = draws.windows[w - 1];
    for (std::size_t i = 0; i < before.n_draws; ++i)
      n_long += draws.arm_of[before.first_draw + i] == 1 ? 1 : 0;
    REQUIRE(draws.windows[w].rewards.has_value());
    // end + (start - end) x 2^(-draws / half life)
    const double of_long = 3 + std::exp2(-static_cast<double>(n_long) / 300);
    CHECK(draws.windows[w].rewards->subsets[1] == Approx(of_long));
    CHECK(draws.windows[w].probabilities.subsets[1] > before.probabilities.subsets[1]);
  }
  CHECK_FALSE(draws.windows.front().rewards.has_value());
  CHECK(draws.n_probed_updates == draws.windows.size() - 1);
  // Probes of an update are of their arms, and other ones for each update.
  const ProbeLengths first = probe_lengths(draws, {}, 0);
  CHECK(first.gradient[0].size() == 8);
  CHECK(first.perplexity[1].size() == 16);
  CHECK(std::ranges::all_of(first.perplexity[1], [](std::int32_t length) { return length >= 3000; }));
  CHECK(first.perplexity != probe_lengths(draws, {}, 1).perplexity);
}

TEST_CASE("a mixture that stands still keeps the probabilities of its start") {
  const MixtureJob job({.mixing = hbo_mixing()});
  for (const MixtureWindow& window : draw_mixture(job.scenario(), true).windows) {
    CHECK(window.probabilities.subsets[1] == Approx(40.0 / 340));
    CHECK_FALSE(window.rewards.has_value());
  }
}

TEST_CASE("every strategy trains every draw of every window once, in the order of the windows") {
  const MixtureJob job({.strategies = R"({"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2})"});
  const Scenario scenario = job.scenario();
  const MixedDraws draws = draw_mixture(scenario);
  SharedPrices prices(scenario);
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    StrategySpec spec = scenario.strategies.front();
    spec.strategy = strategy.name;
    spec.order = strategy.default_order;
    spec.window_samples = 0;
    spec.last_iteration = LastIteration::shorten;
    if (strategy.takes_groups()) {
      spec.groups = {{.capacity_tokens = 4096, .sequence = {.ulysses = 1}, .gc_layers = {}},
                     {.capacity_tokens = 16384, .sequence = {.ulysses = 4}, .gc_layers = {}}};
    }
    if (strategy.chooses_groups) spec.groups.clear();
    if (strategy.layout == Layout::rows) spec.micro_batches_per_rank = 1;
    if (strategy.cuts_samples) {
      CHECK_THROWS_WITH(find_mixture_plan(scenario, spec, draws, draws, prices),
                        Contains("keeps samples whole"));
      continue;
    }
    const PlannedStrategy plan = find_mixture_plan(scenario, spec, draws, draws, prices).plan;
    REQUIRE(plan.windows.size() == draws.windows.size());
    std::vector<int> times(draws.samples.size(), 0);
    std::size_t iteration = 0;
    std::size_t last_window_end = 0;
    for (std::size_t w = 0; w < plan.windows.size(); ++w) {
      const PlannedWindow& window = plan.windows[w];
      CHECK(window.first_iteration == static_cast<std::int64_t>(iteration));
      last_window_end = draws.windows[w].first_draw + draws.windows[w].n_draws;
      for (std::int64_t i = 0; i < window.n_iterations; ++i, ++iteration) {
        for (const PlacedPack& placed : plan.schedule.packs(plan.schedule.iterations[iteration])) {
          for (const ItemIndex item : plan.packing.groups[placed.group][placed.pack]) {
            ++times[item];
            CHECK(item < last_window_end);  // no draw is trained before its window
          }
        }
      }
    }
    CHECK(iteration == plan.schedule.iterations.size());
    CHECK(std::ranges::all_of(times, [](int n) { return n == 1; }));
    CHECK(plan.windows.back().carried_draws == 0);
    CHECK(plan.packing.counts.n_samples == 900);
    CHECK(plan.packing.counts.n_tokens == sum_of_lengths(draws.lengths_tokens));
  }
}

TEST_CASE("draws that are cut or left out are counted once, even where they wait for the next window") {
  // Packs of 8 192: 20 of the 40 long samples have more tokens.
  for (const std::string over_long : {"truncate", "drop", "own_pack"}) {
    CAPTURE(over_long);
    const MixtureJob job(
        {.strategies = R"({"strategy": "ffd", "capacity_tokens": 8192, "sp_degree": 1})",
         .packing = R"({"over_long": ")" + over_long + R"(", "last_iteration": "shorten"})"});
    const Scenario scenario = job.scenario();
    const MixedDraws draws = draw_mixture(scenario);
    SharedPrices prices(scenario);
    const PlannedStrategy plan =
        find_mixture_plan(scenario, scenario.strategies.front(), draws, draws, prices).plan;
    std::int64_t n_long = 0;
    std::int64_t over = 0;
    for (const std::int32_t length : draws.lengths_tokens) {
      if (length > 8192) {
        ++n_long;
        over += length - 8192;
      }
    }
    REQUIRE(n_long > 10);
    std::int64_t carried = 0;
    for (const PlannedWindow& window : plan.windows) carried += window.carried_draws;
    CHECK(carried > 0);
    const PackCounts& counts = plan.packing.counts;
    CHECK(counts.truncated_samples == (over_long == "truncate" ? n_long : 0));
    CHECK(counts.truncated_tokens == (over_long == "truncate" ? over : 0));
    CHECK(counts.dropped_samples == (over_long == "drop" ? n_long : 0));
    CHECK(counts.own_pack_samples == (over_long == "own_pack" ? n_long : 0));
  }
}

TEST_CASE("a report accounts for all draws, and marks plans that know later ones", "[plain]") {
  const MixtureJob job(
      {.mixing = hbo_mixing(), .strategies = R"({"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2},
      {"name": "whole", "strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2, "mixture_packs": "run"},
      {"name": "pools", "strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2, "mixture_packs": "pools"},
      {"strategy": "planner"}, {"name": "prior", "strategy": "planner", "mixture_plan": "prior"}, {"name": "known", "strategy": "planner", "mixture_plan": "run"})"});
  const Report report = compare_strategies(job.scenario());
  REQUIRE(report.mixture.has_value());
  const MixtureSummary& mixture = *report.mixture;
  CHECK(mixture.n_draws == 900);
  CHECK(report.lengths.n_samples == 900);
  std::int64_t n_samples = 0;
  std::int64_t n_draws = 0;
  for (std::size_t times = 0; times < mixture.samples_by_draws.size(); ++times) {
    n_samples += mixture.samples_by_draws[times];
    n_draws += static_cast<std::int64_t>(times) * mixture.samples_by_draws[times];
  }
  CHECK(n_samples == 340);
  CHECK(mixture.samples_by_draws.front() == mixture.never_drawn_samples);
  CHECK(mixture.repeated_draws == 900 - (340 - mixture.never_drawn_samples));
  if (mixture.samples_by_draws.size() <= 20) CHECK(n_draws == 900);
  bool says_assumed = false;
  for (const std::string& text : mixture.assumptions)
    says_assumed = says_assumed || text.find("assumed") != std::string::npos;
  CHECK(says_assumed);
  for (const StrategyResult& run : report.runs) {
    CAPTURE(run.name);
    CHECK_FALSE(run.failure.has_value());
    REQUIRE(run.mixture.has_value());
    const bool knows = run.name == "whole" || run.name == "known";
    const bool is_marked = std::ranges::any_of(run.differences, [](const std::string& text) {
      return text.find("nobody knows beforehand") != std::string::npos;
    });
    CHECK(is_marked == knows);
    CHECK(run.mixture->still.has_value());
    double gpu_days = 0;
    std::int64_t n_iterations = 0;
    for (const MixtureWindowResult& window : run.mixture->windows) {
      gpu_days += window.gpu_days;
      n_iterations += window.n_iterations;
    }
    if (run.name == "whole") continue;
    CHECK(gpu_days == Approx(run.times->gpu_days));
    CHECK(n_iterations == run.iterations);
  }
  const std::vector<std::string>& of_pools = report.runs[2].differences;
  CHECK(std::ranges::any_of(
      of_pools, [](const std::string& text) { return text.starts_with("draws packs in place of samples"); }));
  // The same draws, but for pools, which draw packs.
  CHECK(report.runs[0].counts.unrepeated_tokens() == report.runs[3].counts.unrepeated_tokens());
}

TEST_CASE("a plan for the mixture of the start holds the longest draw of the run", "[plain]") {
  // No long sample is drawn in the first steps, half of the draws are long later.
  const MixtureJob job(
      {.mixing = R"({"policy": "recorded", "trace": "trace.jsonl", "draws": 2000, "update_every_steps": 4})",
       .strategies = R"({"strategy": "isf", "plan": "auto", "capacity_tokens": 16384},
                                         {"strategy": "planner", "mixture_plan": "prior", "capacity_tokens": 16384})",
       .packing = R"({"over_long": "error", "tp_degrees": [1], "pp_degrees": [1],
                      "checkpointing_kinds": ["full"], "offloads": ["none"]})",
       .trace = R"({"step": 0, "probabilities": {"subsets": {"short": 1, "long": 0}}})"
                "\n"
                R"({"step": 8, "probabilities": {"subsets": {"short": 0.5, "long": 0.5}}})"
                "\n"});
  for (const StrategyResult& run : compare_strategies(job.scenario()).runs) {
    CAPTURE(run.name);
    CHECK_FALSE(run.failure.has_value());
    CHECK(run.counts.longest_tokens == 12750);
  }
}

TEST_CASE("rewards of subsets alone leave the groups as they are") {
  const MixtureJob job(
      {.mixing =
           R"({"policy": "hbo", "draws": 900, "update_every_steps": 4, "actor_steps": 2000, "trace": "trace.jsonl"})",
       .short_groups = R"(, "groups": {"quantiles": 2})",
       .trace =
           R"({"step": 0, "rewards": {"subsets": {"short": 1, "long": 3}, "groups": {"short": [3, 1], "long": [1]}}})"
           "\n"
           R"({"step": 8, "rewards": {"subsets": {"short": 1, "long": 3}}})"
           "\n"});
  const MixedDraws draws = job.draws();
  REQUIRE(draws.windows.size() > 4);
  CHECK(draws.windows[1].probabilities.groups[0][0] > 0.5);
  CHECK(draws.windows[3].probabilities.groups[0] == draws.windows[1].probabilities.groups[0]);
  CHECK(draws.windows[3].probabilities.subsets[1] > draws.windows[1].probabilities.subsets[1]);
}

TEST_CASE("probes are cut, left out or run whole as samples are") {
  const auto gpu_days = [](const std::string& over_long) {
    const MixtureJob job(
        {.mixing = hbo_mixing(),
         .strategies = R"({"strategy": "ffd", "capacity_tokens": 4096, "sp_degree": 1})",
         .packing = R"({"over_long": ")" + over_long + R"(", "last_iteration": "shorten"})"});
    return compare_strategies(job.scenario()).runs.front().mixture->probes.front().gpu_days;
  };
  CHECK(gpu_days("drop") < gpu_days("truncate"));
  CHECK(gpu_days("truncate") < gpu_days("own_pack"));
}

TEST_CASE("passes in lockstep take as long as the longest of each round") {
  // On 4 GPUs, longest first: 10 on two GPUs and 6, 6 beside it are the first round, 5 and 5 the second: 15.
  const std::vector<ProbePass> passes = {{1, 5}, {1, 6}, {2, 10}, {1, 5}, {1, 6}};
  CHECK(lockstep_probes_time(passes, 4, SimTime{1}).ns == 16);
  CHECK_THROWS_WITH(lockstep_probes_time(std::vector<ProbePass>{{8, 1}}, 4, SimTime{}), Contains("got 8"));
}

TEST_CASE("results of a mixture do not depend on threads or on other jobs", "[plain]") {
  const MixtureJob job(
      {.mixing = hbo_mixing(),
       .strategies =
           R"({"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2}, {"strategy": "planner"})"});
  const Scenario scenario = job.scenario();
  const Report one = compare_strategies(scenario);
  SharedWork shared;
  const Report two = compare_strategies(scenario, {.n_threads = 2, .shared = &shared});
  for (std::size_t i = 0; i < one.runs.size(); ++i)
    CHECK(one.runs[i].times->gpu_days == two.runs[i].times->gpu_days);
  // Another interval is another data set.
  Scenario other = job.scenario();
  other.mixing->update_every_steps = 2;
  CHECK(draw_mixture(other).windows.size() > draw_mixture(scenario).windows.size());
}

TEST_CASE("a pipeline's probes do not wait for weights that are gathered once a step") {
  // ZeRO 3 gathers the weights before every pass; in a pipeline, before the first pass of a step alone. The
  // passes of probes then take what they take under ZeRO 1.
  const MixtureJob job({.mixing = hbo_mixing(),
                        .strategies = R"({"strategy": "isf", "capacity_tokens": 16384, "gc_layers": 32})"});
  const auto probe_gpu_days = [&](int zero_stage) {
    Scenario scenario = job.scenario();
    scenario.plan.pp_degree = 2;
    scenario.plan.zero_stage = zero_stage;
    return compare_strategies(scenario).runs.front().mixture->probes.front().gpu_days;
  };
  CHECK(probe_gpu_days(3) == Approx(probe_gpu_days(1)));
}

TEST_CASE("probes as HBO's code runs them take 59 % of its training by passes, spread ones 3.3 %") {
  // 8 subsets x 4 groups; 64 samples a step on 8 GPUs; an update every 200 steps. Forward and backward 8 a
  // group, 256 in all, three forward passes each; forward 16 a group, 512, four times: 2 816 on every rank
  // beside 200 x 8 x 3 = 4 800. Once: 1 280 of 4 800. Spread over 8 ranks: 160 of 4 800.
  const Scenario scenario = load_scenario("mixture-hbo-8x4", packsim_test::kData);
  const Report report = compare_strategies(scenario);
  const StrategyResult& run = report.runs.front();
  REQUIRE(run.mixture.has_value());
  const std::vector<ProbeCost>& probes = run.mixture->probes;
  REQUIRE(probes.size() == 6);
  CHECK(probes[1].of_training_passes_fraction == Approx(2816.0 / 4800).epsilon(0.01));
  CHECK(probes[2].of_training_passes_fraction == Approx(1280.0 / 4800).epsilon(0.01));
  CHECK(probes[3].of_training_passes_fraction == Approx(160.0 / 4800).epsilon(0.01));
  CHECK(probes[1].forward_backward_passes == 256);
  CHECK(probes[1].forward_passes == 2048);
  CHECK(probes[3].forward_passes == 512);
  // In GPU time spread and packed probes are below 4 %, and cheaper than every other way.
  CHECK(probes[4].of_training_fraction < 0.04);
  CHECK(probes[4].gpu_days < probes[3].gpu_days);
  CHECK(probes[3].gpu_days < probes[2].gpu_days);
  CHECK(probes[2].gpu_days < probes[1].gpu_days);
}

TEST_CASE("a burst of probes ends when the last GPU has done its passes") {
  // On 4 GPUs: one pass of 2 GPUs for 10, then 6, 6, 5, 5 alone. The wide one takes GPUs 0 and 1; 6 and 6 run
  // on 2 and 3, then 5 and 5 behind them: 11. The exchange takes 1 more.
  const std::vector<ProbePass> passes = {{1, 5}, {1, 6}, {2, 10}, {1, 5}, {1, 6}};
  CHECK(spread_probes_time(passes, 4, SimTime{1}).ns == 12);
  CHECK(repeated_probes_time(passes).ns == 32);
  CHECK(spread_probes_time({}, 4, SimTime{}).ns == 0);
  CHECK_THROWS_WITH(spread_probes_time(std::vector<ProbePass>{{8, 1}}, 4, SimTime{}),
                    Contains("1 to 4 GPUs, got 8"));
}

TEST_CASE("mistakes of a mixture are refused, each with its place") {
  const auto message = [](const MixtureParts& parts) {
    try {
      const MixtureJob job(parts);
      compare_strategies(job.scenario());
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto of_mixing = [&](const std::string& mixing) { return message({.mixing = mixing}); };
  CHECK_THAT(of_mixing(R"({"policy": "best", "update_every_steps": 1})"), Contains("/mixing/policy"));
  CHECK_THAT(of_mixing(R"({"policy": "static"})"), Contains("/mixing/update_every_steps"));
  CHECK_THAT(of_mixing(R"({"policy": "static", "update_every_steps": 1, "temperature": 2})"),
             Contains("/mixing/temperature: expected no temperature for policy static"));
  CHECK_THAT(of_mixing(R"({"policy": "recorded", "update_every_steps": 1})"), Contains("/mixing/trace"));
  CHECK_THAT(of_mixing(R"({"policy": "recorded", "update_every_steps": 1, "trace": "no.jsonl"})"),
             Contains("no.jsonl"));
  CHECK_THAT(of_mixing(R"({"policy": "hbo", "update_every_steps": 1})"), Contains("neither"));
  CHECK_THAT(of_mixing(hbo_mixing(R"(, "trace": "trace.jsonl")")), Contains("both"));
  CHECK_THAT(
      of_mixing(
          R"({"policy": "hbo", "update_every_steps": 4, "curves": [{"subset": "long", "start": 1, "end": 0, "half_life_draws": 9}]})"),
      Contains("got none for group 0 of \"short\""));
  CHECK_THAT(
      of_mixing(
          R"({"policy": "hbo", "update_every_steps": 4, "curves": [{"start": 1, "end": 0, "half_life_draws": 9}, {"group": 7, "start": 1, "end": 0, "half_life_draws": 9}]})"),
      Contains("got group 7"));
  CHECK_THAT(
      of_mixing(
          R"({"policy": "odm", "update_every_steps": 4, "curves": [{"start": 1, "end": 0, "half_life_draws": 9}], "probes": {}})"),
      Contains("/mixing/probes"));
  CHECK_THAT(message({.short_groups = R"(, "groups": {"column": "score"})"}),
             Contains("a column named score"));
  CHECK_THAT(message({.short_groups = R"(, "groups": {"parts": [1, 2]})"}),
             Contains("add up to the 300 samples"));
  CHECK_THAT(message({.short_groups = R"(, "groups": {"quantiles": 400})"}), Contains("300 samples"));
  CHECK_THAT(message({.short_groups = R"(, "groups": {})"}), Contains("/groups/column"));
  CHECK_THAT(message({.strategies = R"({"strategy": "planner", "mixture_packs": "pools"})"}),
             Contains("/strategies/0/mixture_packs"));
  CHECK_THAT(message({.packing = R"({"over_long": "split"})"}), Contains("keeps samples whole"));
  CHECK_THAT(
      message({.strategies = R"({"strategy": "ffd", "capacity_tokens": 16384, "mixture_plan": "run"})"}),
      Contains("/strategies/0/mixture_plan: expected no mixture_plan for strategy ffd with a given plan"));
  CHECK_THAT(of_mixing(hbo_mixing(R"(, "probes": {"placement": "repeated", "overlaps": true})")),
             Contains("/mixing/probes/overlaps"));
  CHECK_THAT(of_mixing(R"({"policy": "static", "update_every_steps": 4, "trace": "trace.jsonl"})"),
             Contains("no trace for policy static"));
  CHECK_THAT(of_mixing(R"({"policy": "recorded", "update_every_steps": 3, "trace": "trace.jsonl"})"),
             Contains("got 3 beside step 8"));
  CHECK_THAT(of_mixing(R"({"policy": "hbo", "update_every_steps": 4, "trace": "trace.jsonl"})"),
             Contains("got rewards from step 8 on"));
}

TEST_CASE("keys of a mixture are refused without one") {
  TempFolder folder;
  write_mixture_sources(folder);
  std::string text = mixture_scenario_text(
      {.strategies = R"({"strategy": "ffd", "capacity_tokens": 16384, "mixture_packs": "run"})",
       .short_groups = R"(, "mixing_weight": 2, "groups": {"quantiles": 2})"});
  const std::size_t at = text.find("\"mixing\": ");
  text.erase(at, text.find("\"packing\"", at) - at);
  folder.write("job.json", text);
  for (const char* place :
       {"/lengths/mix/0/mixing_weight", "/lengths/mix/0/groups", "/strategies/0/mixture_packs"}) {
    CHECK_THROWS_WITH(load_scenario(folder.path() + "/job.json", packsim_test::kData),
                      Contains(std::string(place) + ": expected no"));
  }
}

TEST_CASE("lines of a trace that are wrong are refused, each with its line") {
  const auto message = [](const std::string& trace) {
    TempFolder folder;
    write_mixture_sources(folder);
    folder.write("trace.jsonl", trace);
    folder.write("job.json", mixture_scenario_text({}));
    try {
      load_scenario(folder.path() + "/job.json", packsim_test::kData);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message(R"({"step": 0, "probabilities": {"subsets": {"short": 1, "long": 0}}})") == "accepted");
  CHECK_THAT(message("[]"), Contains("line 1") && Contains("an object with a step"));
  CHECK_THAT(message(R"({"probabilities": {"subsets": {"short": 1, "long": 0}}})"),
             Contains("line 1: /step"));
  CHECK_THAT(message(R"({"step": 0, "probabilities": {"subsets": {"short": 1}}})"),
             Contains("line 1: /probabilities/subsets/long: expected number >= 0, got nothing"));
  CHECK_THAT(message(R"({"step": 0, "probabilities": {"subsets": {"short": 1, "long": 0, "other": 0}}})"),
             Contains("a source of the mix"));
  CHECK_THAT(message("{\"step\": 0, \"probabilities\": {\"subsets\": {\"short\": 1, \"long\": 0}}}\n"
                     "{\"step\": 0, \"probabilities\": {\"subsets\": {\"short\": 1, \"long\": 0}}}"),
             Contains("line 2: /step: expected a later step"));
  CHECK_THAT(message(R"({"step": 5, "probabilities": {"subsets": {"short": 1, "long": 0}}})"),
             Contains("from step 0 on"));
  CHECK_THAT(message(R"({"step": 0})"), Contains("none"));
  CHECK_THAT(message(R"({"step": 0, "probabilties": {}})"),
             Contains("/probabilties: expected step, probabilities, rewards or n_draws"));
  CHECK_THAT(
      message(
          R"({"step": 0, "probabilities": {"subsets": {"short": 1, "long": -1}, "groups": {"short": 1, "long": [1]}}})"),
      Contains("/subsets/long") && Contains("/groups/short"));
}

}  // namespace packsim
