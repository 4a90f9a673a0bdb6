#include "calibration/fit/steps/step_fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "calibration/fit/steps/memory_fit.hpp"
#include "calibration/fit/steps/step_terms.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "models/step/pass/pass_time.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/calibration/synthetic.hpp"
#include "tests/paths.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using packsim_test::kData;
const std::string kRows = packsim_test::source_dir() + "/calibration/data/hbp_step_times.csv";

StepFitProblem read_problem() {
  StepFitProblem problem;
  problem.model = load_model("llama3.1-8b", kData);
  problem.cluster = load_cluster_type("h100-sxm-80gb", kData);
  problem.cluster.nodes = 4;
  problem.hardware = profile_on(load_hardware_profile("h100-sxm-public-fa2", kData), problem.cluster);
  problem.plan = published_plan();
  problem.tokens_per_iteration = 524288;
  problem.single_document_table = "T4";
  problem.rows = read_step_rows(kRows);
  return problem;
}

const StepFitProblem& published_problem() {
  static const StepFitProblem problem = read_problem();
  return problem;
}

// Priced as a user's step is, without the fit's own sums: 5 000 tokens a document but in table 4.
double true_step_s(const StepFitProblem& problem, const StepRow& row, const FrameworkFactors& truth) {
  const ParallelPlan plan = problem.plan_of(row);
  StepPricer pricer(problem.model, problem.cluster, plan, problem.hardware, truth);
  std::vector<std::int32_t> lengths;
  const std::int64_t document = row.table == "T4" ? row.pack_tokens : 5000;
  for (std::int64_t left = row.pack_tokens; left > 0; left -= document)
    lengths.push_back(static_cast<std::int32_t>(std::min(left, document)));
  const MicroBatchPrice price = pricer.micro_batch(row.pack_tokens, lengths);
  const std::int64_t micro_batch_ns =
      forward_time(price, pricer.chunk(0)).total_ns + backward_time(price, pricer.chunk(0)).total_ns;
  const StatesPrice& states = pricer.states();
  std::int64_t step_ns = states.optimizer_ns + states.step_ns;
  for (const StateUnit& unit : states.units) step_ns += unit.gather_ns + unit.reduce_ns;
  const std::int64_t n = problem.tokens_per_iteration / (32 / row.sequence.ulysses) / row.pack_tokens;
  return 1e-9 * static_cast<double>(n * micro_batch_ns + step_ns);
}

const FrameworkFactors kStepTruth{.linear_factor = 1.3,
                                  .attention_factor = 1.2,
                                  .exchange_in_node_factor = 1.8,
                                  .exchange_between_factor = 1.4,
                                  .micro_batch_s = 0.050,
                                  .step_s = 0.030,
                                  .reserved_bytes = 8e9,
                                  .logits_bytes_per_vocab_entry = 6};

// The published rows with the times of some truth, each wrong by so much (standard deviation of the
// logarithm).
StepFitProblem made_up_problem(const FrameworkFactors& truth, std::uint64_t seed, double noise) {
  StepFitProblem problem = published_problem();
  Synthetic random(seed);
  for (StepRow& row : problem.rows) {
    if (!row.out_of_memory) row.step_s = true_step_s(problem, row, truth) * std::exp(noise * random.normal());
  }
  return problem;
}

}  // namespace

TEST_CASE("The shipped profile is what its data and the fit give") {
  const StepFit fit = fit_steps(published_problem());
  const FrameworkProfile shipped = load_profile("deepspeed-ulysses-h100", kData);
  const TimeFactors fitted = time_factors(fit.profile.factors);
  const TimeFactors read = time_factors(shipped.factors);
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    CAPTURE(kFrameworkNumbers[k].name);
    CHECK(read[k] == Approx(fitted[k]).epsilon(1e-4));
  }
  CHECK(shipped.factors.reserved_bytes == Approx(fit.profile.factors.reserved_bytes).epsilon(1e-4));
  CHECK(shipped.factors.logits_bytes_per_vocab_entry ==
        Approx(fit.profile.factors.logits_bytes_per_vocab_entry).epsilon(1e-4));
  REQUIRE(shipped.log_covariance.size() == fit.profile.log_covariance.size());
  for (std::size_t i = 0; i < shipped.log_covariance.size(); ++i)
    CHECK(shipped.log_covariance[i] == Approx(fit.profile.log_covariance[i]).epsilon(1e-3).margin(1e-8));
  CHECK(shipped.left_out_error.value() == Approx(fit.profile.left_out_error.value()).epsilon(1e-3));
  CHECK(shipped.hardware == "h100-sxm-public-fa2");
  CHECK(shipped.fitted_on.traits == std::vector<PlanTrait>{PlanTrait::ulysses, PlanTrait::checkpointing});
  CHECK(shipped.fitted_on.least_gpus == 32);
  CHECK(shipped.fitted_on.most_gpus == 32);
  CHECK(shipped.execution.fp32_gradients);
  CHECK_FALSE(shipped.execution.overlaps_states);
  CHECK_FALSE(shipped.execution.recompute_stops_early);
  CHECK(shipped.execution.bucket_elements == 500'000'000);
}

TEST_CASE("Eight numbers reproduce the sixteen published step times, and every memory verdict") {
  const StepFitProblem& problem = published_problem();
  const StepFit fit = fit_steps(problem);
  CHECK(fit.mean_error <= 0.015);
  CHECK(fit.max_error <= 0.03);
  CHECK(fit.left_out_mean_error <= 0.025);
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const StepRow& row = problem.rows[i];
    CAPTURE(row.table, row.pack_tokens, row.sequence.ulysses);
    if (row.out_of_memory) {
      CHECK_FALSE(fit.predicted_gc_layers[i].has_value());
    } else {
      CHECK(std::abs(fit.predicted_gc_layers[i].value() - row.gc_layers) <= 1);
    }
  }
}

TEST_CASE("A fit to times made from known factors finds them where the priors agree") {
  FrameworkFactors truth = kStepTruth;
  truth.exchange_in_node_factor = truth.exchange_between_factor = 1.5;
  truth.micro_batch_s = 0.03;
  truth.step_s = 0.02;
  const StepFit fit = fit_steps(made_up_problem(truth, 1, 0), false);
  const TimeFactors found = time_factors(fit.profile.factors);
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    CAPTURE(kFrameworkNumbers[k].name);
    CHECK(found[k] == Approx(time_factors(truth)[k]).epsilon(0.002));
  }
  REQUIRE(fit.effective_document_tokens.size() == 2);
  for (const auto& [table, tokens] : fit.effective_document_tokens)
    CHECK(tokens == Approx(5000).epsilon(0.002));
  CHECK(fit.max_error <= 1e-4);
}

TEST_CASE("Weak priors that are off cost less than what a row is trusted to") {
  const StepFit fit = fit_steps(made_up_problem(kStepTruth, 1, 0), false);
  CHECK(fit.max_error <= 0.01);
  CHECK(fit.profile.factors.attention_factor == Approx(kStepTruth.attention_factor).epsilon(0.02));
}

TEST_CASE("Standard errors of fitted factors hold what they promise, and the covariance is theirs",
          "[plain]") {
  std::vector<Hits> hits(4);  // of what the rows tell more of than the priors do
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const StepFit fit = fit_steps(made_up_problem(kStepTruth, seed, 0.02), false);
    for (std::size_t k = 0; k < hits.size(); ++k)
      hits[k].add(fit.numbers[k].value, fit.numbers[k].standard_error, time_factors(kStepTruth)[k]);
    for (std::size_t k = 0; k < kNTimeFactors; ++k) {
      const double variance = fit.profile.log_covariance[k * (kNTimeFactors + 1)];
      CHECK(fit.numbers[k].standard_error == Approx(fit.numbers[k].value * std::sqrt(variance)));
    }
    // Two things that make a step longer: what one takes more of, the other takes less.
    CHECK(fit.profile.log_covariance[1] < 0);
  }
  for (std::size_t k = 0; k < hits.size(); ++k) {
    CAPTURE(kFrameworkNumbers[k].name);
    CHECK(hits[k].rate_2() >= 0.9);
  }
}

TEST_CASE("Memory numbers that verdicts were made from give these verdicts again") {
  StepFitProblem problem = published_problem();
  const auto verdict = [&](const StepRow& row, double reserved_bytes, double logits_bytes) {
    return fewest_gc_layers(problem.model, problem.cluster, problem.plan_of(row),
                            {.reserved_bytes = reserved_bytes, .logits_bytes_per_vocab_entry = logits_bytes},
                            tokens_per_gpu(row));
  };
  std::vector<std::optional<int>> true_verdicts;
  for (StepRow& row : problem.rows) {
    true_verdicts.push_back(verdict(row, kStepTruth.reserved_bytes, kStepTruth.logits_bytes_per_vocab_entry));
    row.out_of_memory = !true_verdicts.back();
    row.gc_layers = true_verdicts.back().value_or(0);
  }
  const MemoryAssumptions found = fit_memory_verdicts(problem);
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    CHECK(verdict(problem.rows[i], *found.reserved_bytes, *found.logits_bytes_per_vocab_entry) ==
          true_verdicts[i]);
  }
  CHECK(*found.reserved_bytes == Approx(kStepTruth.reserved_bytes).epsilon(0.1));
  // The verdicts of 19 rows leave a range, whose middle is taken.
  CHECK(*found.logits_bytes_per_vocab_entry == Approx(kStepTruth.logits_bytes_per_vocab_entry).epsilon(0.12));
}

TEST_CASE("A bad row of step times names its place") {
  const TempFolder folder;
  const std::string path = folder.write(
      "rows.csv", "table,pack_tokens,sp_degree,gc_layers,memory,step_s\nT4,32768,two,28,77G,4.45\n");
  CHECK_THROWS_WITH(read_step_rows(path),
                    path +
                        ": line 2: expected table,pack_tokens,sp_degree,gc_layers,memory,"
                        "step_s, got \"T4,32768,two,28,77G,4.45\"");
  CHECK_THROWS_WITH(read_step_rows("/nowhere.csv"), "/nowhere.csv: No such file or directory");
}
