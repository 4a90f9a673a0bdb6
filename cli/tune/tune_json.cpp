#include <nlohmann/json.hpp>

#include "cli/tune/tune_outcome.hpp"
#include "planning/tune/best_case.hpp"
#include "reports/formats/plan_search_json.hpp"

namespace packsim {
namespace {

using Json = nlohmann::ordered_json;

std::string role_name(LengthRole role) {
  switch (role) {
    case LengthRole::gpu_of_fastest:
      return "gpu_of_fastest";
    case LengthRole::fastest:
      return "fastest";
    case LengthRole::gpu_of_longest:
      return "gpu_of_longest";
    default:
      return "longest";
  }
}

Json case_json(const Scenario& scenario, const ProfiledCase& one) {
  Json json = {{"pack_tokens", one.pack_tokens},
               {"sp_degree", one.sequence.ulysses},
               {"gc_layers", one.gc_layers},
               {"feasible", one.feasible()},
               {"peak_memory_bytes", optional_json(one.peak_memory_bytes)},
               {"step_s", optional_json(one.step_s)},
               {"tokens_per_gpu_second", nullptr},
               {"obstacle", nullptr}};
  if (one.feasible()) json["tokens_per_gpu_second"] = tokens_per_gpu_second(scenario, one);
  if (!one.feasible()) json["obstacle"] = one.infeasible_reason;
  return json;
}

Json tie_json(const Scenario& scenario, double best_s, const ProfiledCase& other) {
  Json json = case_json(scenario, other);
  json["saved_fraction"] = saved_fraction({.step_s = best_s}, other);
  return json;
}

Json tuned_group_json(const Scenario& scenario, const TunedGroup& group) {
  Json roles = Json::array();
  for (const LengthRole role : group.roles) roles.push_back(role_name(role));
  Json tied = Json::array();
  for (const ProfiledCase& other : group.tied) tied.push_back(tie_json(scenario, *group.step_s, other));
  return {{"pack_tokens", group.pack_tokens},
          {"sp_degree", group.sequence.ulysses},
          {"gc_layers", group.gc_layers},
          {"step_s", optional_json(group.step_s)},
          {"roles", roles},
          {"near_ties", tied}};
}

Json left_out_json(const LeftOutLength& left_out) {
  const bool cannot_run = left_out.reason == LeftOutLength::Reason::cannot_run;
  return {{"pack_tokens", left_out.listed.pack_tokens},
          {"role", role_name(left_out.listed.role)},
          {"reason", cannot_run ? "cannot_run" : "not_over_fastest"}};
}

Json fewer_layers_json(const FewerLayers& fewer) {
  return {{"pack_tokens", fewer.pack_tokens},
          {"sp_degree", fewer.sequence.ulysses},
          {"gc_layers", fewer.gc_layers},
          {"profiled_gc_layers", fewer.profiled_gc_layers}};
}

}  // namespace

std::string tune_json(const Scenario& scenario, const TuneOutcome& outcome, const std::string& version) {
  const Tuning& tuning = outcome.tuning;
  Json json = {{"format", 1},
               {"version", version},
               {"scenario", scenario.path},
               {"scenario_hash", scenario.scenario_hash},
               {"profile", scenario.profile.name},
               {"stopwatch", outcome.stopwatch.empty() ? Json(nullptr) : Json(outcome.stopwatch)},
               {"iterations", outcome.n_iterations},
               {"order", outcome.order.empty() ? Json(nullptr) : Json(outcome.order)},
               {"seed", scenario.seed},
               {"what_if_free", free_names(scenario)},
               {"tokens_per_iteration", scenario.training.tokens_per_iteration},
               {"near_tie_fraction", outcome.request.near_tie_fraction},
               {"feasible", !tuning.groups.empty()}};
  for (const char* key : {"cases", "groups", "left_out", "near_ties", "fewer_layers"})
    json[key] = Json::array();
  for (const ProfiledCase& one : tuning.cases) json["cases"].push_back(case_json(scenario, one));
  for (const TunedGroup& group : tuning.groups) json["groups"].push_back(tuned_group_json(scenario, group));
  for (const LeftOutLength& left_out : tuning.left_out) json["left_out"].push_back(left_out_json(left_out));
  for (const TiedLength& tied : tuning.tied_lengths) {
    Json tie = tie_json(scenario, *tuning.fastest->step_s, tied.best);
    tie["group_lengths_tokens"] = tied.group_lengths_tokens;
    json["near_ties"].push_back(std::move(tie));
  }
  for (const FewerLayers& fewer : outcome.fewer_layers)
    json["fewer_layers"].push_back(fewer_layers_json(fewer));
  json["plan_search"] = plan_search_json(outcome.search);
  // File names may hold bytes that are not UTF-8; JSON may not.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace packsim
