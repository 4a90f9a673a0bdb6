#include "reports/formats/plan_search_json.hpp"

namespace packsim {
namespace {

using Json = nlohmann::ordered_json;

Json searched_plan(const std::optional<SearchedPlan>& plan) {
  if (!plan) return nullptr;
  Json groups = Json::array();
  for (const SearchedGroup& group : plan->groups) {
    groups.push_back({{"capacity_tokens", group.capacity_tokens},
                      {"sp_degree", group.sequence.ulysses},
                      {"cp_degree", group.sequence.ring},
                      {"gc_layers", group.gc_layers}});
  }
  return {{"strategy", plan->strategy},
          {"tp_degree", plan->plan.tp_degree},
          {"pp_degree", plan->plan.pp_degree},
          {"ep_degree", plan->plan.ep_degree},
          {"zero_stage", plan->plan.zero_stage},
          {"shard_degree", plan->plan.shard_degree},
          {"groups", groups},
          {"gpu_days", plan->gpu_days},
          {"trains_asked_job", plan->trains_asked_job}};
}

}  // namespace

nlohmann::ordered_json plan_search_json(const std::optional<PlanSearch>& search) {
  if (!search) return nullptr;
  return {{"n_candidates", search->n_candidates},
          {"n_too_large", search->n_too_large},
          {"n_ruled_out", search->n_ruled_out},
          {"n_simulated", search->n_simulated},
          {"tried_tokens", search->tried_tokens},
          {"chosen", searched_plan(search->chosen)},
          {"runner_up", searched_plan(search->runner_up)},
          {"usual", searched_plan(search->usual)}};
}

}  // namespace packsim
