#include "reports/tables/search_rows.hpp"

#include <fmt/format.h>

#include "models/plan/plan_text.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

constexpr std::size_t kMostListed = 4;

std::string searched_groups_text(const std::vector<SearchedGroup>& groups) {
  if (groups.size() > kMostListed)
    return fmt::format("{} groups of up to {}", groups.size(), capacity(groups.back().capacity_tokens));
  std::vector<std::string> texts;
  for (const SearchedGroup& group : groups)
    texts.push_back(
        fmt::format("{} at {}", capacity(group.capacity_tokens), degrees_text(plan_of_group({}, group))));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string slower_text(const std::optional<SearchedPlan>& plan, const PlanSearch& search) {
  if (!plan) return "-";
  if (!plan->trains_asked_job) return "another job";
  return fmt::format("{:+.1f}%", 100 * (plan->gpu_days / search.chosen.gpu_days - 1));
}

}  // namespace

std::string searched_text(const SearchedPlan& plan, const StrategyResult& run) {
  std::string text = plan.strategy == run.strategy ? "" : plan.strategy + ": ";
  text += searched_groups_text(plan.groups);
  return text + "; " + searched_plan_text(plan.plan);
}

std::vector<std::vector<std::string>> search_rows(const Report& report) {
  std::vector<std::vector<std::string>> rows = {
      {"plan found", "chosen", "second best", "slower", "usual", "slower", "plans", "simulated"}};
  for (const StrategyResult& run : report.runs) {
    if (!run.search) continue;
    const PlanSearch& search = *run.search;
    const auto text = [&](const std::optional<SearchedPlan>& plan) {
      return plan ? searched_text(*plan, run) : std::string("-");
    };
    rows.push_back({run.name, text(search.chosen), text(search.runner_up),
                    slower_text(search.runner_up, search), text(search.usual),
                    slower_text(search.usual, search), grouped(search.n_candidates),
                    grouped(search.n_simulated)});
  }
  return rows.size() == 1 ? std::vector<std::vector<std::string>>{} : rows;
}

}  // namespace packsim::formats_detail
