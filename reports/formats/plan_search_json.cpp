#include "reports/formats/plan_search_json.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/loader/json/plan_json.hpp"

namespace packsim {
namespace {

Json searched_plan(const std::optional<SearchedPlan>& plan) {
  if (!plan) return nullptr;
  const Json parallelism = parallelism_json(plan->plan);
  Json json = {{"strategy", plan->strategy}};
  for (const auto& [key, value] : parallelism.items())
    if (find_plan_key(key)->is_searched) json[key] = value;
  json["parallelism"] = parallelism;
  json["groups"] = Json::array();
  for (const SearchedGroup& group : plan->groups)
    json["groups"].push_back(group_json(group.capacity_tokens, plan_of_group(plan->plan, group)));
  json["gpu_days"] = plan->gpu_days;
  json["trains_asked_job"] = plan->trains_asked_job;
  return json;
}

}  // namespace

nlohmann::ordered_json plan_search_json(const std::optional<PlanSearch>& search) {
  if (!search) return nullptr;
  return {{"n_candidates", search->n_candidates},
          {"n_too_large", search->n_too_large},
          {"n_ruled_out", search->n_ruled_out},
          {"n_bases_ruled_out", search->n_bases_ruled_out},
          {"n_given_up", search->n_given_up},
          {"n_bases_given_up", search->n_bases_given_up},
          {"is_cut_short", search->is_cut_short},
          {"n_simulated", search->n_simulated},
          {"tried_tokens", search->tried_tokens},
          {"chosen", searched_plan(search->chosen)},
          {"runner_up", searched_plan(search->runner_up)},
          {"usual", searched_plan(search->usual)},
          {"may_fit", searched_plan(search->may_fit)}};
}

Json run_plan_json(const ParallelPlan& plan, std::span<const PlannedGroup> groups) {
  Json json = {{"parallelism", parallelism_json(plan)}, {"groups", Json::array()}};
  for (const PlannedGroup& group : groups)
    json["groups"].push_back(group_json(group.capacity_tokens, plan_of_group(plan, group)));
  return json;
}

}  // namespace packsim
