#include <nlohmann/json.hpp>

#include "recommend/recommendation_text.hpp"
#include "reports/formats/plan_search_json.hpp"

namespace packsim {
namespace {

using Json = nlohmann::ordered_json;

Json times_json(const std::optional<CandidateTimes>& times) {
  if (!times) return {};
  return {{"wall_hours", times->wall_hours},
          {"wall_hours_low", times->wall_hours_low},
          {"wall_hours_high", times->wall_hours_high},
          {"gpu_days", times->gpu_days},
          {"gpu_days_low", times->gpu_days_low},
          {"gpu_days_high", times->gpu_days_high},
          {"money", optional_json(times->money)},
          {"money_low", optional_json(times->money_low)},
          {"money_high", optional_json(times->money_high)}};
}

Json question_json(const Question& question) {
  Json offers = Json::array();
  for (const ClusterOffer& offer : question.offers)
    offers.push_back({{"cluster_type", offer.type},
                      {"gpu_hour_price", optional_json(offer.gpu_hour_price)},
                      {"term", offer.term.empty() ? Json() : Json(offer.term)},
                      {"spot_mtbf_hours", optional_json(offer.spot_mtbf_hours)},
                      {"hardware", offer.hardware.empty() ? Json() : Json(offer.hardware)},
                      {"gpus_per_node", optional_json(offer.gpus_per_node)},
                      {"nodes", node_counts_of(question, offer)}});
  return {{"gpus", offers},
          {"price_source", question.price_source.empty() ? Json() : Json(question.price_source)},
          {"currency", question.currency.empty() ? Json() : Json(question.currency)},
          {"most_gpus", optional_json(question.limits.most_gpus)},
          {"deadline_hours", optional_json(question.limits.deadline_hours)},
          {"budget", optional_json(question.limits.budget)},
          {"goal", question.goal == Goal::cheapest ? "cheapest" : "fastest"}};
}

Json candidate_json(const Question& question, const Candidate& candidate) {
  const std::optional<CandidatePlan>& plan = candidate.plan;
  const ClusterOffer& offer = question.offers[candidate.offer];
  return {{"cluster_type", offer.type},
          {"term", offer.term.empty() ? Json() : Json(offer.term)},
          {"nodes", candidate.nodes},
          {"n_gpus", candidate.n_gpus},
          {"least_gpu_hours", candidate.least_gpu_hours > 0 ? Json(candidate.least_gpu_hours) : Json()},
          {"strategy", candidate.strategy.empty() ? Json() : Json(candidate.strategy)},
          {"standing", standing_name(candidate.standing)},
          {"reason", candidate.reason.empty() ? Json() : Json(candidate.reason)},
          {"zero_stage", plan ? Json(plan->zero_stage) : Json()},
          {"groups", plan ? Json(plan->groups) : Json()},
          {"plan", plan ? Json::parse(plan->json) : Json()},
          {"chance_to_meet",
           candidate.times ? optional_json(chance_to_meet(question.limits, *candidate.times)) : Json()},
          {"times", times_json(candidate.times)},
          {"job_hash", candidate.job_hash.empty() ? Json() : Json(candidate.job_hash)}};
}

Json case_json(const ChangedCase& changed) {
  return {{"what", changed.what},
          {"settings", changed.settings},
          {"reason", changed.reason.empty() ? Json() : Json(changed.reason)},
          {"times", times_json(changed.times)}};
}

}  // namespace

std::string recommendation_json(const Recommendation& found, const std::vector<Sensitivity>& sensitivities,
                                const std::string& version) {
  Json candidates = Json::array();
  for (const Candidate& candidate : found.candidates)
    candidates.push_back(candidate_json(found.question, candidate));
  Json changes = Json::array();
  for (const Sensitivity& sensitivity : sensitivities)
    changes.push_back({{"what", sensitivity.what},
                       {"less", case_json(sensitivity.less)},
                       {"more", case_json(sensitivity.more)}});
  const RunManifest& manifest = found.report.manifest;
  const Json json = {{"format", 1},
                     {"version", version},
                     {"question", question_json(found.question)},
                     {"is_complete", found.is_complete},
                     {"best", found.ranking.empty() ? Json() : Json(found.ranking.front())},
                     {"ranking", found.ranking},
                     {"pareto", found.pareto},
                     {"fewest_gpus", optional_json(found.fewest_gpus)},
                     {"candidates", candidates},
                     {"sensitivity", changes},
                     {"warnings", manifest.warnings}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace packsim
