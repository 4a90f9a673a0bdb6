#include "reports/verdict/verdict.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "example_report.hpp"
#include "terminal_lines.hpp"

using namespace packsim;
using namespace packsim_test;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

namespace {

std::string first_doubt(const Report& report) {
  const Verdict answer = verdict(report);
  REQUIRE_FALSE(answer.doubts.empty());
  return answer.doubts.front();
}

}  // namespace

TEST_CASE("the headline says who is fastest, by how much, and at what loss of data") {
  Report report = example_report();
  CHECK(verdict(report).best == "hbp");
  CHECK(verdict(report).other == "isf");
  CHECK(verdict(report).headline == "hbp, 1.25 times as fast as the baseline isf.");
  report.runs[1].speedup = {.value = 1.25, .low = 1.1, .high = 1.42};
  CHECK(verdict(report).headline == "hbp, 1.25 times as fast as the baseline isf (90%: 1.10 to 1.42).");
  report.runs[1].speedup = {.value = 1.25};
  report.runs[1].counts.dropped_tokens = 1'500;
  report.runs[1].counts.split_samples = 9;
  CHECK(verdict(report).headline ==
        "hbp, 1.25 times as fast as the baseline isf, but it leaves 1.50k more tokens untrained and cuts 9 "
        "samples "
        "into pieces.");
  report.baseline = "hbp";
  report.runs[1].counts = {};
  CHECK(verdict(report).headline == "hbp, the baseline; no other run is faster.");
  CHECK(verdict(report).other == "isf");
  report.runs = {example_misfit("isf"), example_run("hbp", 4)};
  report.baseline = "isf";
  CHECK(verdict(report).headline ==
        "hbp, the fastest run that can be compared; the baseline isf does not fit in memory.");
  CHECK(verdict(report).not_compared == "Not compared: isf does not fit in memory.");
  report.runs = {example_run("isf", 5)};
  CHECK(verdict(report).headline == "isf.");
  CHECK(verdict(report).why.empty());
}

TEST_CASE("the gain over a given plan is divided into that by the plan and that by packing") {
  Report report = example_report();
  StrategyResult given = example_run("published", 9);
  report.runs[0] = example_run("isf", 5);
  report.runs[1] = example_run("hbp", 4);
  given.strategy = report.runs[0].strategy = "isf";
  given.differences = {
      "waits for gradients and weights, isf overlaps gradients and weights with computation"};
  report.runs.push_back(given);
  const std::string sentence =
      "Of what it saves against published, 5.00 GPU-days, 4.00 come from a better plan and 1.00 from "
      "packing.";
  // Only where the baseline's plan was searched.
  CHECK_THAT(verdict(report).why, !Contains("better plan"));
  report.runs[0].search.emplace();
  CHECK_THAT(verdict(report).why, Catch::EndsWith(" " + sentence));
  // A given plan that trains other data, that is of another strategy, or that is no slower, is no part of it.
  report.runs[2].counts.trained_tokens = report.runs[0].counts.trained_tokens + 1'000'000'000;
  CHECK_THAT(verdict(report).why, !Contains("better plan"));
  report.runs[2] = given;
  report.runs[2].strategy = "bfd";
  CHECK_THAT(verdict(report).why, !Contains("better plan"));
  report.runs[2] = example_run("published", 5);
  report.runs[2].strategy = "isf";
  CHECK_THAT(verdict(report).why, !Contains("better plan"));
}

TEST_CASE("the decision names the simplest run that is as good, or says that none is") {
  Report report = example_report();         // hbp 4 and isf 5 GPU-days
  CHECK(verdict(report).decision.empty());  // no interval says how sure that is
  CHECK(verdict(report).advised == "hbp");
  for (StrategyResult& run : report.runs) run.times->errors.own = 0.01;
  CHECK(verdict(report).decision == "Run hbp: it is faster than the other one at 90%.");
  const auto add = [&](const std::string& name, double gpu_days) -> StrategyResult& {
    StrategyResult& run = report.runs.emplace_back(example_run(name, gpu_days));
    run.times->errors.own = 0.01;
    return run;
  };
  add("bfd", 6);
  CHECK(verdict(report).decision == "Run hbp: it is faster than all 2 others at 90%.");
  // exp(1.645 x .05 x root of 2) = 1.123: 4.1 / 4 is 1.025.
  for (StrategyResult& run : report.runs) run.times->errors.own = 0.05;
  add("ffd", 4.1).times->errors.own = 0.05;
  CHECK(verdict(report).decision == "Run hbp: no simpler run is as good.");

  // Two pack lengths and rings against one of each.
  StrategyResult& best = report.runs[1];
  for (StrategyResult& run : report.runs) run.groups[0].packs = 1;
  best.groups.push_back(best.groups[0]);
  best.groups[1].sequence.ring = 2;
  CHECK(verdict(report).best == "hbp");
  CHECK(verdict(report).advised == "ffd");
  CHECK(
      verdict(report).decision ==
      "Run ffd: it cannot be told apart from hbp, the fastest, at 90%, and is simpler (1 pack length instead "
      "of 2, no CP).");
  // A group without packs needs nothing.
  best.groups[1].packs = 0;
  CHECK(verdict(report).decision == "Run hbp: no simpler run is as good.");
  // What runs already is simplest of all that are alike.
  report.baseline = "ffd";
  CHECK(verdict(report).decision ==
        "Run ffd, the baseline: it cannot be told apart from hbp, the fastest, at 90%, and is as simple.");
  // A run that is 6 % slower is not as good, however wide its interval.
  report.runs[3].times->gpu_days = 4.25;
  CHECK(verdict(report).advised == "hbp");
  // Nor is one that trains another job.
  report.runs[3].times->gpu_days = 4.1;
  report.runs[3].differences = {"cuts samples"};
  CHECK(verdict(report).advised == "hbp");
  report.runs = {example_run("isf", 5)};
  CHECK(verdict(report).decision.empty());
}

TEST_CASE("the decision says where the gain is in the plan") {
  Report report = example_report();
  for (StrategyResult& run : report.runs) run.times->errors.own = 0.01;
  StrategyResult given = example_run("published", 9);
  given.strategy = report.runs[0].strategy = "isf";
  given.differences = {"waits for gradients"};
  report.runs.push_back(given);
  report.runs[0].search.emplace();
  // 9 to 5 by the plan, 5 to 4 by packing: 4 of 5 are 80 %.
  CHECK_THAT(verdict(report).decision,
             Catch::EndsWith(" Most of the gain over published comes from the plan, not from packing."));
  report.runs[2].times->gpu_days = 8.9;  // 3.9 of 4.9
  CHECK_THAT(verdict(report).decision, !Contains("gain"));
}

TEST_CASE("what the limits of a trainer cost is said, or that they cost nothing") {
  Report report = example_report();
  report.manifest.trainer = "TRL";
  CHECK_THAT(verdict(report).cost, !Contains("limits"));  // where it was not asked
  report.without_trainer = example_run("hbp", report.runs[1].times->gpu_days / 1.25);
  CHECK_THAT(verdict(report).cost, Contains("The limits of TRL cost 25.0%: without them 3.20 GPU-days."));
  report.without_trainer = example_run("hbp", report.runs[1].times->gpu_days);
  CHECK_THAT(verdict(report).cost, Contains("The limits of TRL cost nothing"));
}

TEST_CASE("a run of another job never wins, and the reason is said if no other is left") {
  Report report = example_report();
  report.runs[1].differences = {"trains 3.7 % of the data less than isf",
                                "cuts 9 samples into pieces, isf cuts 0"};
  CHECK(verdict(report).headline == "isf, the only run that can be compared.");
  CHECK(verdict(report).not_compared == "Not compared: hbp trains another job.");
  report.runs[0].differences = {"iterations train 9 tokens"};
  CHECK(verdict(report).headline ==
        "There is no best plan, because no run trains the job that was asked for. isf: iterations train 9 "
        "tokens; the "
        "reasons of the others are below the table.");
  CHECK(verdict(report).best.empty());
  CHECK(setting_rows(verdict(report)).empty());
  report.runs[1].differences.clear();
  CHECK(verdict(report).headline ==
        "hbp, the fastest run that can be compared; the baseline isf trains another job.");
}

TEST_CASE("if nothing fits, the run that lacks the least memory is named") {
  Report report = example_report();
  report.runs = {example_misfit("isf"), example_misfit("hbp")};
  report.runs[1].groups[0].peak_memory_bytes = 90e9;
  report.runs[1].groups[0].memory = {.weights_bytes = 10e9, .gradients_bytes = 10e9, .optimizer_bytes = 20e9};
  // 90e9 bytes are 83.8 GiB, 80e9 are 74.5 GiB, 40e9 are 37.3 GiB.
  CHECK(verdict(report).headline ==
        "No plan fits in memory. hbp comes nearest, with ZeRO 1: its group 128K needs 83.8 of 74.5 GiB "
        "(9.3 GiB too "
        "much); weights, gradients and optimizer take 37.3 GiB of it. `packsim advise` simulates what would "
        "make it fit.");
  report.fitting = {.strategy = "hbp", .n_tried = 12, .found = {}};
  CHECK_THAT(
      verdict(report).headline,
      EndsWith("of it. None of 12 changes makes hbp fit by itself; `packsim advise` also simulates two "
               "together."));
  report.fitting->found = {.what = "4 nodes in place of 2",
                           .settings = {"cluster.nodes=4"},
                           .gpu_days = 2.5,
                           .gpu_days_low = 2,
                           .gpu_days_high = 3};
  CHECK_THAT(
      verdict(report).headline,
      EndsWith("of it. With 4 nodes in place of 2 it fits and takes 2.50 GPU-days (90%: 2.00 to 3.00): --set "
               "cluster.nodes=4"));
  // On the host it lacks 1.5 times what there is, on the GPU 1.125 times.
  report.runs[1].groups[0].memory.host_bytes = 1.5 * 512 * 1024.0 * 1024 * 1024;
  report.runs[1].groups[0].host_memory_bytes = 512 * 1024.0 * 1024 * 1024;
  report.runs[1].plan.offload.optimizer = true;
  report.runs.erase(report.runs.begin());
  CHECK_THAT(
      verdict(report).headline,
      StartsWith(
          "No plan fits in memory. hbp comes nearest, with ZeRO 1, optimizer in host memory: its group "
          "128K needs 768.0 of 512.0 GiB of a node's host memory (256.0 GiB too much). With"));
  for (StrategyResult& run : report.runs) run.failure = "no room";
  CHECK(verdict(report).headline == "Every run failed; the reasons are below the table.");
  report.runs.clear();
  CHECK(verdict(report).headline == "Nothing was compared.");
  report.runs = {example_run("isf", 5)};
  report.runs[0].times.reset();
  CHECK(verdict(report).headline == "No run has an iteration, so nothing is trained.");
}

TEST_CASE("why: the parts of the time by which the best run is faster, and what it pays for them") {
  Report report = example_report();
  auto& shares = report.runs[1].times->shares;
  // isf: 3.75 linear, 1.25 idle. hbp: 4 x (0.6, 0.05) = 2.4, 0.2, and 4 x 0.35 = 1.4 of exchange.
  shares.by_cause[static_cast<std::size_t>(Cause::linear)] = 0.6;
  shares.by_cause[static_cast<std::size_t>(Cause::sequence)] = 0.35;
  shares.idle = 0.05;
  // 1.35 of 3.75 are 36 %, 1.05 of 1.25 are 84 %; 1.35 + 1.05 - 1.40 = 1.00.
  CHECK(verdict(report).why ==
        "It saves 1.00 GPU-days against isf: +1.35 as linear layers take 36% less, +1.05 as GPUs wait 84% "
        "less for "
        "each other, -1.40 as exchange within packs takes time that it did not take before.");
  report.runs[1].times->gpu_days = 5;  // isf is the first of equals
  CHECK(verdict(report).why == "hbp takes as many GPU-days.");
}

TEST_CASE("savings by part add up to the difference in GPU-days") {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    Report report = example_report();
    for (StrategyResult& run : report.runs) {
      TimeShares& shares = run.times->shares;
      double sum = 0;
      for (double& share : shares.by_cause) sum += share = static_cast<double>(random() % 1000);
      sum += shares.idle = static_cast<double>(1 + random() % 1000);
      for (double& share : shares.by_cause) share /= sum;
      shares.idle /= sum;
    }
    double sum = 0;
    for (const VerdictSaving& saving : verdict(report).savings) sum += saving.gpu_days;
    CHECK(sum == Approx(5 - 4));
  }
}

TEST_CASE("the next run is told with its distance, and the interval of that") {
  Report report = example_report();
  CHECK(first_doubt(report) ==
        "isf is next with 5.00 GPU-days, 25.0% more; the report has no intervals that say how sure that is.");
  // What both share is no matter. exp(1.645 x .03 x root of 2) = 1.0723: 1.25 / 1.0723 to 1.25 x 1.0723.
  for (StrategyResult& run : report.runs) run.times->errors = {.shared = {{"kernels", 0.5}}, .own = 0.03};
  CHECK(verdict(report).doubts ==
        std::vector<std::string>{"isf is next with 5.00 GPU-days, 25.0% more (90%: +16.6% to +34.0%)."});
  // Of what is not shared, the difference counts: exp(1.645 x hypot(.1, .03 x root of 2)) = 1.196.
  report.runs[0].times->errors.shared["kernels"] = 0.6;
  CHECK_THAT(first_doubt(report), Contains("25.0% more (90%: +4.5% to +49.5%)."));
}

TEST_CASE("the first doubt is that the best run may not fit in memory") {
  Report report = example_report();
  const std::string best = verdict(report).best;
  for (StrategyResult& run : report.runs) {
    if (run.name == best) run.groups.back().verdict = MemoryVerdict::may_not_fit;
  }
  CHECK(first_doubt(report) == best +
                                   " may not fit in GPU memory: the estimate may be wrong by more memory "
                                   "than it leaves free.");
}

TEST_CASE("a plan with states in host memory is told beside what is faster and may fit") {
  Report report = example_report();
  StrategyResult& best = *std::ranges::find(report.runs, verdict(report).best, &StrategyResult::name);
  SearchedPlan& chosen = best.search.emplace().chosen;
  chosen = {.strategy = best.strategy, .plan = {.zero_stage = 2}, .groups = {{65536}}, .gpu_days = 4};
  chosen.plan.offload.optimizer = true;
  best.search->may_fit = chosen;
  best.search->may_fit->plan.offload = {};
  best.search->may_fit->gpu_days = 1;
  CHECK(first_doubt(report) ==
        "With less GPU memory left free, another plan takes 1.00 GPU-days, 75.0% less, but may not fit: 64K "
        "at SP 1; ZeRO 2.");
  best.search->may_fit.reset();
  CHECK_THAT(first_doubt(report), !Contains("may not fit"));
}

TEST_CASE("searches that ended at their time limit are named") {
  Report report = example_report();
  CHECK_THAT(first_doubt(report), !Contains("time limit"));
  for (StrategyResult& run : report.runs) {
    if (run.name != verdict(report).best) run.search.emplace().is_cut_short = true;
  }
  CHECK_THAT(
      first_doubt(report),
      StartsWith(
          "A time limit ended these searches, so better plans may exist, as good as the bound at most: "));
  CHECK_THAT(first_doubt(report), !Contains(verdict(report).best));
}

TEST_CASE("runs that may be as fast as the best one are named in one sentence") {
  Report report = example_report();
  report.runs.push_back(example_run("bfd", 4.5));
  for (StrategyResult& run : report.runs) run.times->errors.own = 0.05;
  // exp(1.645 x .05 x root of 2) = 1.123: 4.5 / 4 is 1.125 and 5 / 4 is 1.25.
  CHECK(verdict(report).doubts.size() == 1);
  report.runs[2].times->gpu_days = 4.4;
  CHECK(verdict(report).doubts[1] == "bfd cannot be told apart from hbp at 90%.");
  report.runs.push_back(example_run("ffd", 4.2));
  report.runs[3].times->errors.own = 0.05;
  CHECK(verdict(report).doubts[1] == "2 of 3 other runs cannot be told apart from hbp at 90%: ffd, bfd.");
  report.runs[3].differences = {"cuts samples"};  // another job
  CHECK(verdict(report).doubts[1] == "bfd cannot be told apart from hbp at 90%.");
  for (int i = 0; i < 6; ++i) {
    report.runs.push_back(example_run("run " + std::to_string(i), 4.1));
    report.runs.back().times->errors.own = 0.05;
  }
  CHECK_THAT(verdict(report).doubts[1],
             Contains("7 of 8 other runs") && Contains("run 0, run 1, run 2, run 3, run 4, and 2 more."));
}

TEST_CASE(
    "doubts name prices that are not measured, the largest uncertainty, and failures that turn the order") {
  Report report = failing_report();
  report.runs[1].times->evidence = {.measured = 0.4, .extrapolated = 0.3, .transferred = 0.2, .missing = 0.1};
  report.runs[1].times->largest_uncertainty = "no step had ZeRO 2";
  const std::vector<std::string> doubts = verdict(report).doubts;
  REQUIRE(doubts.size() == 3);
  CHECK(doubts[1] ==
        "60.0% of the time of hbp has prices that are extrapolated, scaled or guessed, not measured.");
  CHECK(doubts[2] == "The interval of hbp is wide mainly because no step had ZeRO 2.");
  report.runs[0].failures->gpu_days = 4.4;  // hbp: 4.5
  CHECK(verdict(report).doubts[1] == "With failures, isf is better: 4.40 GPU-days, while hbp takes 4.50.");
  report.runs[1].failures->gpu_days = std::numeric_limits<double>::infinity();
  CHECK(verdict(report).doubts[1] ==
        "With failures, isf is better: 4.40 GPU-days, while hbp never finishes.");
  report.runs[1].failures->gpu_days = 4.3;
  report.runs[1].planning = PlanningCost{.exposed_s = 9, .gpu_days = 6};
  CHECK(verdict(report).doubts[1] ==
        "With waits for plans, isf is better: 5.00 GPU-days, while hbp takes 6.00.");
}

TEST_CASE("the cost has the run's interval, wall time, use, distance from the bound, money and failures") {
  Report report = failing_report();
  CHECK(verdict(report).cost ==
        "4.00 GPU-days, 12.0 h of wall time. With failures: 4.50 GPU-days (4.25 to 5.25 in 90% of runs).");
  report.runs.resize(1);
  CHECK(verdict(report).cost ==
        "5.00 GPU-days, 15.0 h of wall time. With failures it would never finish: they come faster than it "
        "makes "
        "progress.");
  CHECK_FALSE(verdict(report).money.has_value());
}

TEST_CASE("settings are those of each group, as a trainer names them") {
  Report report = example_report();
  report.runs[1].groups[0].sequence.ring = 2;
  report.runs[1].plan.tp_degree = 4;
  const Verdict answer = verdict(report);
  CHECK(answer.settings.starts_with("TP 4; ZeRO 1; "));
  CHECK(setting_rows(answer)[1] == std::vector<std::string>{"128K", "8", "2", "32", "1", "1", "varies"});
}

TEST_CASE("hostile names are escaped in sentences, and kept as they are where programs look runs up") {
  Report report = example_report();
  report.runs[1].name = "red\x1b[31m";
  const Verdict answer = verdict(report);
  CHECK(answer.best == "red\x1b[31m");
  CHECK(answer.headline.starts_with("red\\x1b[31m, 1.25"));
}
