#include "models/plan/plan_text.hpp"

#include <algorithm>

namespace packsim {
namespace {

// What a text says of the key; empty if it says nothing.
std::string said_of(const PlanKey& key, const ParallelPlan& plan) {
  constexpr std::string_view kPlace = "{}";
  const PlanValue value = key.get(plan);
  std::string text(value == default_value(key) ? key.said_at_default : key.said);
  const std::size_t at = text.find(kPlace);
  if (at != std::string::npos) text.replace(at, kPlace.size(), plan_value_text(value));
  return text;
}

// keys: only those for which it is true.
template <typename Keys>
std::string joined_texts(const ParallelPlan& plan, std::string_view between, const Keys& keys) {
  std::string all;
  for (const PlanKey& key : plan_keys()) {
    if (!keys(key)) continue;
    const std::string text = said_of(key, plan);
    if (text.empty()) continue;
    if (!all.empty()) all += between;
    all += text;
  }
  return all;
}

bool is_model_parallel(const PlanKey& key) {
  return key.is_degree && key.part == PlanPart::parallelism;
}

}  // namespace

std::string plan_text(const ParallelPlan& plan) {
  constexpr std::string_view kBetween = "; ";
  const bool has_degrees = !joined_texts(plan, kBetween, is_model_parallel).empty();
  return (has_degrees ? "" : "no model parallelism; ") +
         joined_texts(plan, kBetween, [](const PlanKey& key) { return key.part != PlanPart::cluster; });
}

std::string degrees_text(const ParallelPlan& plan) {
  const std::string text = joined_texts(plan, ", ", [](const PlanKey& key) { return key.is_degree; });
  return text.empty() ? "SP 1" : text;
}

std::string searched_plan_text(const ParallelPlan& plan) {
  return joined_texts(plan, ", ",
                      [](const PlanKey& key) { return key.is_searched && key.part != PlanPart::group; });
}

std::string group_text(std::int64_t capacity_tokens, const ParallelPlan& plan) {
  return std::to_string(capacity_tokens) + " tokens, " + degrees_text(plan);
}

}  // namespace packsim
