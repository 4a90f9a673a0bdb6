// Fits the step-level model to published step times and prints a framework profile. The shipped profile
// deepspeed-ulysses-h100 is this program's output; calibration/README.md has the command.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/fit/step_fit.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace {

using packsim::StepFit;
using packsim::StepFitProblem;
using packsim::StepRow;

// Six digits: more than the rows can tell, few enough to be the same on every machine.
double six_digits(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

nlohmann::ordered_json layers_or_oom(int gc_layers) {
  return gc_layers < 0 ? nlohmann::ordered_json("OOM") : nlohmann::ordered_json(gc_layers);
}

double percent(double fraction) {
  return std::stod(fmt::format("{:.2f}", 100 * fraction));
}

nlohmann::ordered_json profile_json(const StepFitProblem& problem, const StepFit& fit,
                                    const std::string& rows_path) {
  const packsim::FrameworkProfile& profile = fit.profile;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const StepRow& row = problem.rows[i];
    nlohmann::ordered_json entry = {{"table", row.table},
                                    {"pack_tokens", row.pack_tokens},
                                    {"sp_degree", row.sp_degree},
                                    {"gc_layers", layers_or_oom(row.out_of_memory ? -1 : row.gc_layers)},
                                    {"predicted_gc_layers", layers_or_oom(fit.predicted_gc_layers[i])}};
    if (!row.out_of_memory) {
      entry["measured_s"] = row.step_s;
      entry["predicted_s"] = std::stod(fmt::format("{:.3f}", fit.predicted_s[i]));
      entry["left_out_s"] = std::stod(fmt::format("{:.3f}", fit.left_out_s[i]));
    }
    rows.push_back(entry);
  }
  nlohmann::ordered_json documents;
  for (const auto& [table, tokens] : fit.effective_document_tokens) documents[table] = std::round(tokens);
  return {{"format", 1},
          {"name", "deepspeed-ulysses-h100"},
          {"gpu", problem.cluster.gpu},
          {"model", problem.model.name},
          {"n_gpus", problem.cluster.n_gpus()},
          {"zero_stage", problem.zero_stage},
          {"source", "fitted to the step times of HBP (arXiv 2503.07680) tables 4, 18 and 19"},
          {"description",
           "DeepSpeed ZeRO-1 with Ulysses on 4 nodes x 8 H100, LLaMA-3.1-8B, per-layer checkpointing"},
          {"fitted",
           {{"linear_flop_per_s", six_digits(profile.linear_flop_per_s)},
            {"attention_flop_per_s", six_digits(profile.attention_flop_per_s)},
            {"intra_node_bytes_per_s", six_digits(profile.intra_node_bytes_per_s)},
            {"inter_node_bytes_per_s", six_digits(profile.inter_node_bytes_per_s)},
            {"micro_batch_s", six_digits(profile.micro_batch_s)},
            {"iteration_s", six_digits(profile.iteration_s)},
            {"reserved_bytes", six_digits(profile.reserved_bytes)},
            {"logits_bytes_per_vocab_entry", six_digits(profile.logits_bytes_per_vocab_entry)}}},
          {"provenance",
           {{"command", "build/packsim_fit_steps " + rows_path},
            {"rows", rows_path},
            {"hardware", "4 nodes x 8 NVIDIA H100 80GB, as published; no row was measured by this project"},
            {"assumed",
             {{"tokens_per_iteration", problem.tokens_per_iteration}, {"table_4", "one document per pack"}}},
            {"fitted_beside", {{"effective_document_tokens", documents}}},
            {"priors",
             "intra-node 200 GB/s (0.4), inter-node 25 GB/s (0.5), micro-batch 30 ms (1), iteration 100 ms "
             "(1): median (standard deviation of the logarithm)"},
            {"step_time_error_percent",
             {{"mean", percent(fit.mean_error)},
              {"max", percent(fit.max_error)},
              {"left_out_mean", percent(fit.left_out_mean_error)},
              {"left_out_max", percent(fit.left_out_max_error)}}},
            {"results", rows}}}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Fits the step-level cost model to step times and prints a framework profile");
  std::string rows_path;
  app.add_option("rows", rows_path, "CSV: table,pack_tokens,sp_degree,gc_layers,memory,step_s")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    const packsim::DataPaths data{.root = PACKSIM_SOURCE_DIR};
    StepFitProblem problem;
    problem.model = packsim::load_model("llama3.1-8b", data);
    problem.cluster = packsim::load_cluster_type("h100-sxm-80gb", data);
    problem.cluster.nodes = 4;
    problem.tokens_per_iteration = 524288;
    problem.rows = packsim::read_step_rows(rows_path);
    fmt::print("{}\n", profile_json(problem, packsim::fit_steps(problem, "T4"), rows_path).dump(2));
  } catch (const std::exception& error) {
    fmt::print(stderr, "packsim_fit_steps: {}\n", error.what());
    return 3;
  }
  return 0;
}
