#include "calibration/fit/step_fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "models/memory.hpp"
#include "models/step_cost_model.hpp"
#include "scenarios/loader/load_scenario.hpp"

using namespace packsim;

namespace {

const DataPaths kData{.root = PACKSIM_SOURCE_DIR};
const std::string kRows = PACKSIM_SOURCE_DIR "/calibration/data/hbp_step_times.csv";

StepFitProblem published_problem() {
  StepFitProblem problem;
  problem.model = load_model("llama3.1-8b", kData);
  problem.cluster = load_cluster_type("h100-sxm-80gb", kData);
  problem.cluster.nodes = 4;
  problem.tokens_per_iteration = 524288;
  problem.rows = read_step_rows(kRows);
  return problem;
}

}  // namespace

TEST_CASE("The shipped profile is what its data and the fit give") {
  const StepFit fit = fit_steps(published_problem(), "T4");
  const FrameworkProfile shipped = load_profile("deepspeed-ulysses-h100", kData);
  CHECK(shipped.linear_flop_per_s == Approx(fit.profile.linear_flop_per_s).epsilon(1e-4));
  CHECK(shipped.attention_flop_per_s == Approx(fit.profile.attention_flop_per_s).epsilon(1e-4));
  CHECK(shipped.intra_node_bytes_per_s == Approx(fit.profile.intra_node_bytes_per_s).epsilon(1e-4));
  CHECK(shipped.inter_node_bytes_per_s == Approx(fit.profile.inter_node_bytes_per_s).epsilon(1e-4));
  CHECK(shipped.micro_batch_s == Approx(fit.profile.micro_batch_s).epsilon(1e-4));
  CHECK(shipped.iteration_s == Approx(fit.profile.iteration_s).epsilon(1e-4));
  CHECK(shipped.reserved_bytes == Approx(fit.profile.reserved_bytes).epsilon(1e-4));
  CHECK(shipped.logits_bytes_per_vocab_entry ==
        Approx(fit.profile.logits_bytes_per_vocab_entry).epsilon(1e-4));
}

TEST_CASE("Eight numbers reproduce the sixteen published step times, and every memory verdict") {
  const StepFitProblem problem = published_problem();
  const StepFit fit = fit_steps(problem, "T4");
  CHECK(fit.mean_error <= 0.015);
  CHECK(fit.max_error <= 0.03);
  CHECK(fit.left_out_mean_error <= 0.025);
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const StepRow& row = problem.rows[i];
    CAPTURE(row.table, row.pack_tokens, row.sp_degree);
    if (row.out_of_memory) {
      CHECK(fit.predicted_gc_layers[i] == -1);
    } else {
      CHECK(std::abs(fit.predicted_gc_layers[i] - row.gc_layers) <= 1);
    }
  }
}

TEST_CASE("A fit to times made from known rates finds them") {
  StepFitProblem problem = published_problem();
  FrameworkProfile truth;
  truth.linear_flop_per_s = 500e12;
  truth.attention_flop_per_s = 400e12;
  truth.intra_node_bytes_per_s = 150e9;
  truth.inter_node_bytes_per_s = 30e9;
  truth.micro_batch_s = 0.050;
  truth.iteration_s = 0.080;
  const StepCostModel model(problem.model, problem.cluster, truth);
  for (StepRow& row : problem.rows) {
    if (row.out_of_memory) continue;
    const double document = row.table == "T4" ? static_cast<double>(row.pack_tokens) : 4000;
    MicroBatch batch;
    batch.tokens = row.pack_tokens;
    batch.computed_pairs = static_cast<std::int64_t>(static_cast<double>(row.pack_tokens) * document);
    const auto n = static_cast<double>(problem.tokens_per_iteration / 32 * row.sp_degree / row.pack_tokens);
    row.step_s =
        n * model.micro_batch(batch, {.sp_degree = row.sp_degree, .gc_layers = row.gc_layers}).total_s() +
        truth.iteration_s;
  }
  const StepFit fit = fit_steps(problem, "T4");
  // Priors pull the numbers that the rows say little about; the rates that carry the time are found.
  CHECK(fit.profile.linear_flop_per_s == Approx(truth.linear_flop_per_s).epsilon(0.02));
  CHECK(fit.profile.attention_flop_per_s == Approx(truth.attention_flop_per_s).epsilon(0.02));
  CHECK(fit.profile.inter_node_bytes_per_s == Approx(truth.inter_node_bytes_per_s).epsilon(0.05));
  CHECK(fit.profile.micro_batch_s == Approx(truth.micro_batch_s).epsilon(0.05));
  CHECK(fit.max_error <= 0.01);  // what the priors cost: half of the 2 % that a row is trusted to
}

TEST_CASE("A bad row of step times names its place") {
  const std::string path = "/tmp/packsim_bad_rows.csv";
  FILE* file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  std::fputs("table,pack_tokens,sp_degree,gc_layers,memory,step_s\nT4,32768,two,28,77G,4.45\n", file);
  std::fclose(file);
  CHECK_THROWS_WITH(read_step_rows(path),
                    path +
                        ": line 2: expected table,pack_tokens,sp_degree,gc_layers,memory,"
                        "step_s, got \"T4,32768,two,28,77G,4.45\"");
  CHECK_THROWS_WITH(read_step_rows("/nowhere.csv"), "/nowhere.csv: No such file or directory");
}
