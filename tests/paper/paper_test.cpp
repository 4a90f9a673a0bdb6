// The published numbers of HBP (arXiv 2503.07680, NeurIPS text) on the shipped paper-like data. The length
// samples were fitted to the paper's ratios, and the profile to its step times; no GPU-days were used in
// either.

#include <catch2/catch.hpp>
#include <map>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

const std::map<std::string, StrategyResult>& paper_runs() {
  static const std::map<std::string, StrategyResult> runs = [] {
    const Scenario scenario = load_scenario("llama3.1-8b-hybrid-128k", packsim_test::kData);
    std::map<std::string, StrategyResult> by_name;
    for (StrategyResult& run : compare_strategies(scenario, {.n_threads = 2, .progress = {}}).runs)
      by_name[run.name] = std::move(run);
    return by_name;
  }();
  return runs;
}

}  // namespace

TEST_CASE("ISF, hierarchical packing and balance batching have the ratios of HBP's table 6", "[slow]") {
  const StrategyResult& isf = paper_runs().at("isf");
  CHECK(isf.balance->abr == Approx(0.506).margin(0.01));
  CHECK(isf.balance->cr == 1.0);
  CHECK(isf.balance->pr <= 0.01);
  const StrategyResult& hierarchical = paper_runs().at("hierarchical");
  CHECK(hierarchical.balance->abr_slots == Approx(0.288).margin(0.02));
  CHECK(hierarchical.balance->cr == Approx(0.173).margin(0.01));
  const StrategyResult& hbp = paper_runs().at("hbp");
  CHECK(hbp.balance->abr == Approx(0.002).margin(0.001));
  CHECK(hbp.balance->cr == Approx(0.173).margin(0.01));
}

TEST_CASE("Shuffled packers have the ABR of HBP's table 13 on 4 ranks", "[slow]") {
  CHECK(paper_runs().at("random").balance->abr == Approx(0.53).margin(0.02));
  CHECK(paper_runs().at("isf").balance->abr == Approx(0.506).margin(0.02));
  CHECK(paper_runs().at("ffs").balance->abr == Approx(0.508).margin(0.02));
  CHECK(paper_runs().at("bfs").balance->abr == Approx(0.508).margin(0.02));
}

TEST_CASE("FFD and SPFHP miss the ABR that table 13 prints, and cost more than ISF as there", "[slow]") {
  // The paper prints .515 and .512; no convention tried gives them (docs/accuracy/hbp_gpu_days.md).
  // Longest-first packing puts the long samples together, which must raise ABR over ISF's. The printed
  // GPU-days show such a rise: 5.48 / 5.22 = 1.050 and 5.40 / 5.22 = 1.034.
  const double isf_gpu_days = paper_runs().at("isf").times->gpu_days;
  CHECK(paper_runs().at("ffd").balance->abr == Approx(0.584).margin(0.01));
  CHECK(paper_runs().at("spfhp").balance->abr == Approx(0.584).margin(0.01));
  CHECK(paper_runs().at("ffd").times->gpu_days == Approx(5.48).epsilon(0.04));
  CHECK(paper_runs().at("spfhp").times->gpu_days == Approx(5.40).epsilon(0.04));
  CHECK(paper_runs().at("ffd").times->gpu_days > 1.03 * isf_gpu_days);
  CHECK(paper_runs().at("spfhp").times->gpu_days > 1.03 * isf_gpu_days);
}

TEST_CASE("GPU-days are within 4 % of HBP's table 6, from a profile fitted to step times alone", "[slow]") {
  CHECK(paper_runs().at("isf").times->gpu_days == Approx(5.22).epsilon(0.04));
  CHECK(paper_runs().at("hierarchical").times->gpu_days == Approx(4.51).epsilon(0.04));
  CHECK(paper_runs().at("hbp").times->gpu_days == Approx(3.73).epsilon(0.04));
}

TEST_CASE("Every token of the paper-like data is trained twice, or counted", "[slow]") {
  constexpr std::int64_t kEpochs = 2;
  for (const auto& [name, run] : paper_runs()) {
    CAPTURE(name);
    CHECK(run.feasible);
    CHECK(run.counts.trained_tokens == kEpochs * 867324283 + run.counts.repeated_tokens -
                                           run.counts.dropped_tokens - run.counts.truncated_tokens);
  }
}

TEST_CASE(
    "FlexSP has the GPU-days, the ABR and the wait for plans of HBP's tables 12 and 14; its CR is missed",
    "[slow]") {
  Scenario scenario = load_scenario("llama3.1-8b-flexsp-128k", packsim_test::kData);
  std::erase_if(scenario.strategies, [](const StrategySpec& spec) { return spec.name != "flexsp"; });
  scenario.baseline = "flexsp";
  const StrategyResult flexsp = compare_strategies(scenario, {.progress = {}}).runs.at(0);
  CHECK(flexsp.times->gpu_days == Approx(4.35).epsilon(0.08));
  CHECK(flexsp.balance->abr == Approx(0.36).margin(0.05));
  CHECK(flexsp.planning->exposed_s == Approx(3.43).epsilon(0.3));
  // Plans of 6.45 s, of which the step before hides as much as it takes; few steps take longer.
  CHECK(flexsp.planning->exposed_s == Approx(6.45 - flexsp.times->step_mean_s).epsilon(0.02));
  CHECK(flexsp.planning->gpu_days ==
        Approx(flexsp.times->gpu_days * (1 + flexsp.planning->exposed_s / flexsp.times->step_mean_s))
            .epsilon(1e-6));
  // The paper has .171; samples that no GPU holds alone are .16 (docs/accuracy/flexsp.md).
  CHECK(flexsp.balance->cr == Approx(0.277).margin(0.01));
  CHECK(flexsp.counts.trained_tokens == 2 * 867324283LL);
}
