#include "reports/formats/formats.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "reports/formats/mixture_json.hpp"
#include "reports/formats/plan_search_json.hpp"
#include "reports/tables/bound_rows.hpp"
#include "reports/tables/run_values.hpp"
#include "reports/verdict/verdict.hpp"
#include "scenarios/loader/json/plan_json.hpp"

namespace packsim {
namespace {

using Json = nlohmann::ordered_json;

Json variability(const Variability& variability) {
  if (!variability.any()) return nullptr;
  Json slow_ranks = Json::array();
  for (const SlowRank& slow : variability.slow_ranks)
    slow_ranks.push_back({{"rank", slow.rank}, {"factor", slow.factor}});
  return {{"rank_spread", variability.rank_spread},
          {"kernel_spread", variability.kernel_spread},
          {"slow_ranks", slow_ranks},
          {"seed", variability.seed}};
}

Json failures(const std::optional<FailureModel>& model) {
  if (!model) return nullptr;
  Json json = {{"unit_mtbf_hours", model->unit_mtbf_h},
               {"unit_gpus", model->unit_gpus},
               {"checkpoint_interval_s", nullptr},
               {"checkpoint_write_s", model->checkpoint_write_s},
               {"checkpoint_blocking_fraction", model->checkpoint_blocking_fraction},
               {"detection_s", model->detection_s},
               {"reschedule_s", model->reschedule_s},
               {"load_s", model->load_s},
               {"spares", nullptr}};
  if (model->checkpoint_interval_s) json["checkpoint_interval_s"] = *model->checkpoint_interval_s;
  if (model->spares)
    json["spares"] = {{"units", model->spares->n_units}, {"repair_s", model->spares->repair_s}};
  return json;
}

Json beside_steps(const std::optional<BesideSteps>& beside) {
  if (!beside) return nullptr;
  Json json = {{"startup_s", beside->startup_s},
               {"first_steps_s", beside->first_steps_s},
               {"data_wait_s", beside->data_wait_s},
               {"evaluation", nullptr},
               {"checkpoint", nullptr},
               {"finish_s", beside->finish_s}};
  if (const auto& evaluation = beside->evaluation)
    json["evaluation"] = {{"every_iterations", evaluation->every_iterations},
                          {"duration_s", optional_json(evaluation->duration_s)},
                          {"tokens", evaluation->tokens}};
  if (const auto& checkpoints = beside->checkpoints)
    json["checkpoint"] = {{"every_iterations", checkpoints->every_iterations},
                          {"blocking_s", checkpoints->blocking_s}};
  return json;
}

Json manifest(const RunManifest& manifest) {
  return {{"version", manifest.version},
          {"command", manifest.command},
          {"scenario", manifest.scenario},
          {"scenario_name", manifest.scenario_name},
          {"scenario_description", manifest.scenario_description},
          {"scenario_hash", manifest.scenario_hash},
          {"profile", manifest.profile},
          {"profile_hash", manifest.profile_hash},
          {"profile_source", manifest.profile_source},
          {"hardware", manifest.hardware},
          {"hardware_hash", manifest.hardware_hash},
          {"level", manifest.level},
          {"seed", manifest.seed},
          {"model", manifest.model},
          {"cluster", manifest.cluster},
          {"trainer", manifest.trainer.empty() ? Json() : Json(manifest.trainer)},
          {"n_gpus", manifest.n_gpus},
          {"gpu_hour_price", optional_json(manifest.gpu_hour_price)},
          {"gpu_power_w", optional_json(manifest.gpu_power_w)},
          {"epochs", manifest.epochs},
          {"tokens_per_iteration", manifest.tokens_per_iteration},
          {"parallelism", parallelism_json(manifest.plan)},
          {"variability", variability(manifest.variability)},
          {"beside_steps", beside_steps(manifest.beside_steps)},
          {"failures", failures(manifest.failures)},
          {"warnings", manifest.warnings}};
}

Json lengths_json(const LengthSummary& lengths) {
  Json sources = Json::array();
  for (const LengthSummary::Source& source : lengths.sources) {
    sources.push_back({{"name", source.name},
                       {"hash", source.hash},
                       {"n_samples", source.n_samples},
                       {"n_tokens", source.n_tokens},
                       {"repeated_samples", source.repeated_samples}});
  }
  Json histogram = Json::array();
  for (const LengthSummary::Bin& bin : lengths.histogram) {
    histogram.push_back({{"from_tokens", bin.from_tokens},
                         {"to_tokens", bin.to_tokens},
                         {"n_samples", bin.n_samples},
                         {"n_tokens", bin.n_tokens}});
  }
  return {{"n_samples", lengths.n_samples},
          {"n_tokens", lengths.n_tokens},
          {"mean_tokens", lengths.mean_tokens},
          {"median_tokens", lengths.median_tokens},
          {"p99_tokens", lengths.p99_tokens},
          {"longest_tokens", lengths.longest_tokens},
          {"sources", sources},
          {"histogram", histogram}};
}

Json memory_json(const MemoryPeak& memory) {
  Json json = {{"moment", moment_name(memory.moment)}};
  for (const PeakPart& part : peak_parts()) json[std::string(part.name) + "_bytes"] = memory.*part.bytes;
  json["host_bytes"] = memory.host_bytes;
  return json;
}

Json group(const StrategyResult& run, const PlannedGroup& group) {
  const ParallelPlan plan = plan_of_group(run.plan, group);
  Json json = group_json(group.capacity_tokens, plan);
  json.update(plan_json(plan, {PlanPart::training}));
  json.update({{"n_dp_ranks", group.n_dp_ranks},
               {"micro_batches_per_rank", optional_json(group.micro_batches_per_rank)},
               {"packs", group.packs},
               {"iterations", group.iterations},
               {"feasible", group.feasible},
               {"memory_verdict", verdict_name(group.verdict)},
               {"memory_error", group.memory_error},
               {"peak_memory_bytes", group.peak_memory_bytes},
               {"allocated_memory_bytes", group.memory.allocated_bytes()},
               {"gpu_memory_bytes", group.gpu_memory_bytes},
               {"host_memory_bytes", optional_json(group.host_memory_bytes)},
               {"memory", memory_json(group.memory)}});
  return json;
}

Json value_json(const Value& value) {
  return std::visit(
      [](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::monostate>) {
          return Json();
        } else {
          return Json(one);
        }
      },
      value);
}

// Keys are "min", "mean" and "max" with the unit.
Json bins(const std::vector<IterationBin>& bins, const std::string& unit) {
  Json rows = Json::array();
  for (const IterationBin& bin : bins) {
    rows.push_back({{"first_iteration", bin.first_iteration},
                    {"last_iteration", bin.last_iteration},
                    {"min" + unit, bin.least},
                    {"mean" + unit, bin.mean},
                    {"max" + unit, bin.most}});
  }
  return rows;
}

Json slowest_steps(const std::vector<SlowStep>& steps) {
  Json rows = Json::array();
  for (const SlowStep& slow : steps) {
    rows.push_back({{"iteration", slow.iteration},
                    {"step_s", slow.step_s},
                    {"abr", slow.abr},
                    {"tokens", slow.tokens},
                    {"longest_tokens", slow.longest_tokens},
                    {"gpus_per_pack", optional_json(slow.gpus_per_pack)}});
  }
  return rows;
}

// Only causes that have a price are listed.
Json evidence_by_cause(const StrategyResult& result) {
  Json causes = Json::object();
  if (!result.times) return causes;
  for (int c = 0; c < kNCauses; ++c) {
    const EvidenceShares& shares = result.times->evidence_by_cause[static_cast<std::size_t>(c)];
    if (shares.measured + shares.extrapolated + shares.transferred + shares.missing <= 0) continue;
    causes[std::string(cause_name(static_cast<Cause>(c)))] = {{"measured_fraction", shares.measured},
                                                              {"extrapolated_fraction", shares.extrapolated},
                                                              {"transferred_fraction", shares.transferred},
                                                              {"unmeasured_fraction", shares.missing}};
  }
  return causes;
}

Json run(const StrategyResult& result) {
  Json run;
  for (const RunValue& value : run_values()) {
    if (!value.key.empty()) run[value.key] = value_json(value.value(result));
  }
  run["parallelism"] = result.failure ? Json() : parallelism_json(result.plan);
  run["groups"] = Json::array();
  for (const PlannedGroup& each : result.groups) run["groups"].push_back(group(result, each));
  run["plan_search"] = plan_search_json(result.search);
  run["mixture"] = strategy_mixture_json(result.mixture);
  run["loss_bias"] = Json::array();
  for (const LossBiasResult& bias : result.loss_bias) {
    run["loss_bias"].push_back({{"normaliser", bias.normaliser},
                                {"misplaced_fraction", bias.misplaced_fraction},
                                {"long_sample_weight", bias.long_sample_weight},
                                {"least_sum", bias.least_sum},
                                {"most_sum", bias.most_sum}});
  }
  const RunTimes none;
  const RunTimes& times = result.times ? *result.times : none;
  run["step_times"] = bins(times.steps, "_s");
  run["step_quantiles_s"] = times.step_quantiles_s;
  run["slowest_steps"] = slowest_steps(times.slowest_steps);
  run["abr_over_run"] = bins(result.abr_over_run, "");
  run["evidence_by_cause"] = evidence_by_cause(result);
  run["sampled_iterations"] = Json::array();
  for (const SampledIteration& sample : result.sampled_iterations) {
    run["sampled_iterations"].push_back({{"iteration", sample.iteration},
                                         {"capacity_tokens", sample.capacity_tokens},
                                         {"gpus_per_pack", optional_json(sample.gpus_per_pack)},
                                         {"abr", sample.abr},
                                         {"attention_pairs", sample.attention_pairs}});
  }
  return run;
}

Json bound(const BoundResult& bound) {
  Json json = {
      {"zero_stage", bound.zero_stage}, {"gpu_days", bound.gpu_days}, {"iterations", bound.iterations}};
  for (const formats_detail::BoundPart& part : formats_detail::bound_parts())
    json[std::string(part.name) + "_gpu_days"] = part.gpu_days(bound);
  return json;
}

Json fitting_json(const std::optional<FittingSearch>& search) {
  if (!search) return nullptr;
  Json json = {{"strategy", search->strategy}, {"n_tried", search->n_tried}, {"found", nullptr}};
  if (const std::optional<FittingChange>& found = search->found)
    json["found"] = {{"what", found->what},
                     {"settings", found->settings},
                     {"gpu_days", found->gpu_days},
                     {"gpu_days_low", found->gpu_days_low},
                     {"gpu_days_high", found->gpu_days_high},
                     {"trains_asked_job", found->trains_asked_job}};
  return json;
}

// The answer in the words of the terminal and the page. Names of runs are null where there is none.
Json verdict_json(const Report& report) {
  const auto name = [](const std::string& run) { return run.empty() ? Json() : Json(run); };
  const Verdict answer = verdict(report);
  return {{"advised", name(answer.advised)},
          {"best", name(answer.best)},
          {"decision", answer.decision},
          {"headline", answer.headline},
          {"doubts", answer.doubts},
          {"not_compared", answer.not_compared},
          {"fitting", fitting_json(report.fitting)}};
}

Json timings(const Report& report) {
  Json runs = Json::array();
  for (const StrategyResult& result : report.runs) {
    const MeasuredTimes& measured = result.measured;
    Json run = {
        {"name", result.name}, {"packing_s", measured.packing_s}, {"simulation_s", measured.simulation_s}};
    if (measured.solve_mean_s) run["solve_mean_s"] = *measured.solve_mean_s;
    if (measured.planning_exposed_s) run["planning_exposed_s"] = *measured.planning_exposed_s;
    runs.push_back(run);
  }
  return {{"total_s", report.total_s}, {"peak_memory_bytes", report.peak_memory_bytes}, {"runs", runs}};
}

}  // namespace

std::string to_json(const Report& report) {
  Json json = {{"format", kReportFormat},
               {"manifest", manifest(report.manifest)},
               {"lengths", lengths_json(report.lengths)},
               {"mixture", mixture_json(report.mixture)},
               {"baseline", report.baseline},
               {"verdict", verdict_json(report)},
               {"bounds", Json::array()},
               {"runs", Json::array()}};
  for (const BoundResult& each : report.bounds) json["bounds"].push_back(bound(each));
  for (const StrategyResult& result : report.runs) json["runs"].push_back(run(result));
  json["timings"] = timings(report);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace packsim
