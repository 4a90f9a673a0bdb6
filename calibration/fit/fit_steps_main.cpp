// Fits what a framework adds to the kernels of a hardware profile to published step times, and prints a
// framework profile. The shipped profile deepspeed-ulysses-h100 is this program's output;
// calibration/README.md has the command.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/fit/steps/framework_profile_json.hpp"
#include "calibration/fit/steps/step_fit.hpp"
#include "files/text/printable.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace {

using nlohmann::ordered_json;
using packsim::percent_of;
using packsim::StepFit;
using packsim::StepFitProblem;
using packsim::StepRow;

ordered_json layers_or_oom(std::optional<int> gc_layers) {
  return gc_layers ? ordered_json(*gc_layers) : ordered_json("OOM");
}

double milliseconds(double time_s) {
  return std::stod(fmt::format("{:.3f}", time_s));
}

ordered_json results(const StepFitProblem& problem, const StepFit& fit) {
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const StepRow& row = problem.rows[i];
    ordered_json entry = {
        {"table", row.table},
        {"pack_tokens", row.pack_tokens},
        {"sp_degree", row.sequence.ulysses},
        {"gc_layers", layers_or_oom(row.out_of_memory ? std::nullopt : std::optional(row.gc_layers))},
        {"predicted_gc_layers", layers_or_oom(fit.predicted_gc_layers[i])}};
    if (!row.out_of_memory) {
      entry["measured_s"] = row.step_s;
      entry["predicted_s"] = milliseconds(fit.predicted_s[i]);
      entry["left_out_s"] = milliseconds(fit.left_out_s[i]);
    }
    rows.push_back(entry);
  }
  return rows;
}

ordered_json provenance(const StepFitProblem& problem, const StepFit& fit, const std::string& rows_path) {
  ordered_json documents;
  for (const auto& [table, tokens] : fit.effective_document_tokens) documents[table] = std::round(tokens);
  return {
      {"command", "build/packsim_fit_steps " + rows_path},
      {"rows", rows_path},
      {"hardware", "4 nodes x 8 NVIDIA H100 80GB, as published; no row was measured by this project"},
      {"assumed",
       {{"tokens_per_iteration", problem.tokens_per_iteration},
        {"table_4", "one document per pack"},
        {"fp32_gradients",
         "DeepSpeed sends gradients in fp32 where sequence parallelism is on "
         "(seq_parallel_communication_data_type), and bf16 gradients would leave twice the reserved memory"},
        {"overlaps_states", "DeepSpeed ignores overlap_comm in ZeRO 1"},
        {"recompute_stops_early", "torch's checkpoint is reentrant unless told otherwise"}}},
      {"fitted_beside", {{"effective_document_tokens", documents}}},
      {"priors",
       "exchange factors 1.5 (0.5), micro-batch 30 ms (1), step 20 ms (1): median (standard deviation of "
       "the logarithm)"},
      {"step_time_error_percent",
       {{"mean", percent_of(fit.mean_error)},
        {"max", percent_of(fit.max_error)},
        {"left_out_mean", percent_of(fit.left_out_mean_error)},
        {"left_out_max", percent_of(fit.left_out_max_error)}}},
      {"results", results(problem, fit)}};
}

StepFitProblem published_problem(const std::string& rows_path, const std::string& hardware) {
  const packsim::DataPaths data{.root = PACKSIM_SOURCE_DIR};
  StepFitProblem problem;
  problem.model = packsim::load_model("llama3.1-8b", data);
  problem.cluster = packsim::load_cluster_type("h100-sxm-80gb", data);
  problem.cluster.nodes = 4;
  problem.hardware = packsim::profile_on(packsim::load_hardware_profile(hardware, data), problem.cluster);
  problem.plan = packsim::published_plan();
  problem.tokens_per_iteration = 524288;
  problem.single_document_table = "T4";
  problem.rows = packsim::read_step_rows(rows_path);
  return problem;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Fits what a framework adds to its kernels to step times and prints a framework profile");
  std::string rows_path;
  std::string hardware = "h100-sxm-public-fa2";
  app.add_option("rows", rows_path, "CSV: table,pack_tokens,sp_degree,gc_layers,memory,step_s")->required();
  app.add_option("--on", hardware, "Hardware profile, by name or path")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const StepFitProblem problem = published_problem(rows_path, hardware);
    StepFit fit = packsim::fit_steps(problem);
    fit.profile.name = "deepspeed-ulysses-h100";
    fit.profile.gpu = problem.cluster.gpu.driver_name;
    fit.profile.hardware = hardware;
    fit.profile.source = "fitted to the step times of HBP (arXiv 2503.07680) tables 4, 18 and 19";
    fmt::print("{}", packsim::framework_profile_text(
                         fit.profile,
                         "DeepSpeed ZeRO-1 with Ulysses on 4 nodes x 8 H100, LLaMA-3.1-8B, per-layer "
                         "checkpointing",
                         fit.numbers, provenance(problem, fit, rows_path)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}", packsim::message_lines("packsim_fit_steps", error.what()));
    return 3;
  }
  return 0;
}
