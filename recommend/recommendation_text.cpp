#include "recommend/recommendation_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "files/text/printable.hpp"
#include "recommend/cluster_tables.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"
#include "reports/verdict/verdict.hpp"

namespace packsim {
namespace {

using namespace formats_detail;
using Row = std::vector<std::string>;

constexpr std::size_t kWidestReason = 60;
constexpr std::size_t kWidestThing = 36;
constexpr std::size_t kMostRunnersUp = 3;

std::string cluster_of(const Question& question, const Candidate& candidate) {
  return fmt::format("{} {} of {} ({} {})", candidate.nodes, candidate.nodes == 1 ? "node" : "nodes",
                     printable_name(name_of(question.offers[candidate.offer])), grouped(candidate.n_gpus),
                     candidate.n_gpus == 1 ? "GPU" : "GPUs");
}

std::string interval(double value, double low, double high) {
  return fmt::format("{} (90%: {} to {})", quantity(value), quantity(low), quantity(high));
}

std::string with_currency(const Question& question, const std::string& money) {
  return question.currency.empty() ? money : money + " " + printable_name(question.currency);
}

std::string amounts_of(const Question& question, const CandidateTimes& times) {
  std::string text = fmt::format("{} h, {} GPU-days",
                                 interval(times.wall_hours, times.wall_hours_low, times.wall_hours_high),
                                 quantity(times.gpu_days));
  if (times.money)
    text += ", costs " + with_currency(question, interval(*times.money, *times.money_low, *times.money_high));
  return text;
}

std::string limits_of(const Recommendation& found) {
  const Question& question = found.question;
  std::vector<std::string> limits;
  if (question.limits.deadline_hours)
    limits.push_back(fmt::format("at most {} h", quantity(*question.limits.deadline_hours)));
  if (question.limits.budget)
    limits.push_back("at most " + with_currency(question, quantity(*question.limits.budget)));
  if (question.limits.most_gpus)
    limits.push_back(fmt::format("at most {} GPUs", grouped(*question.limits.most_gpus)));
  const std::string goal = fmt::format("The {}{}", question.goal == Goal::cheapest ? "cheapest" : "fastest",
                                       found.is_complete ? "" : " so far");
  return limits.empty() ? goal
                        : fmt::format("{} that takes {} with 90% confidence", goal, fmt::join(limits, ", "));
}

std::string change_of(double value, double base) {
  return fmt::format("{:+.1f}%", 100 * (value / base - 1));
}

std::string type_of(const Recommendation& found, const Candidate& candidate) {
  return name_of(found.question.offers[candidate.offer]);
}

// The next best, with the best of every other type of GPUs among them.
std::vector<std::size_t> runners_up(const Recommendation& found) {
  std::vector<std::size_t> chosen;
  std::vector<std::string> types = {type_of(found, found.candidates[found.ranking.front()])};
  for (const std::size_t other : found.ranking) {
    const std::string type = type_of(found, found.candidates[other]);
    if (chosen.size() == kMostRunnersUp || std::ranges::find(types, type) != types.end()) continue;
    types.push_back(type);
    chosen.push_back(other);
  }
  for (const std::size_t other : std::span(found.ranking).subspan(1)) {
    if (chosen.size() < kMostRunnersUp && std::ranges::find(chosen, other) == chosen.end())
      chosen.push_back(other);
  }
  std::ranges::sort(chosen, {}, [&](std::size_t one) { return std::ranges::find(found.ranking, one); });
  return chosen;
}

// The price of its GPU-hours at which it costs as much as the best; none where that is no other GPU's.
std::string even_price(const Recommendation& found, const Candidate& other) {
  const Candidate& best = found.candidates[found.ranking.front()];
  if (!other.times->money || type_of(found, other) == type_of(found, best)) return "";
  return fmt::format("; as cheap at {} a GPU-hour",
                     quantity(*best.times->money / (kHoursPerDay * other.times->gpu_days)));
}

std::string runner_up(const Recommendation& found, const Candidate& other) {
  const CandidateTimes& best = *found.candidates[found.ranking.front()].times;
  return fmt::format("  {} x {}, {}: {} h ({}), {} {} ({}){}", grouped(other.n_gpus),
                     printable_name(type_of(found, other)), printable_name(other.strategy),
                     quantity(other.times->wall_hours), change_of(other.times->wall_hours, best.wall_hours),
                     other.times->money ? "costs" : "GPU-days", quantity(other.times->cost()),
                     change_of(other.times->cost(), best.cost()), even_price(found, other));
}

std::string fewest_gpus(const Recommendation& found) {
  return fmt::format("Fewest GPUs that {} all limits: {}.", found.is_complete ? "meet" : "are known to meet",
                     found.fewest_gpus ? grouped(*found.fewest_gpus) : "none of these");
}

std::string chance_text(double chance) {
  if (chance > 0.995) return "over 99%";
  return chance < 0.005 ? "under 1%" : fmt::format("{:.0f}%", 100 * chance);
}

// " Chance to meet them: 97%." after what the limits are
std::string chance_of(const Recommendation& found, const Candidate& candidate) {
  const std::optional<double> chance = chance_to_meet(found.question.limits, *candidate.times);
  return chance ? fmt::format(" Chance to meet them: {}.", chance_text(*chance)) : "";
}

// Where none meets the limits with 90 % confidence.
std::string likeliest(const Recommendation& found) {
  const Candidate* best = nullptr;
  double most = 0;
  for (const Candidate& candidate : found.candidates) {
    if (!candidate.is_comparable() || !candidate.times) continue;
    const double chance = chance_to_meet(found.question.limits, *candidate.times).value_or(0);
    if (best != nullptr && chance <= most) continue;
    best = &candidate;
    most = chance;
  }
  if (best == nullptr || most < 0.005) return "";
  return fmt::format(" The likeliest of those that were simulated has a chance of {}: {}, strategy {}, {}.",
                     chance_text(most), cluster_of(found.question, *best), printable_name(best->strategy),
                     amounts_of(found.question, *best->times));
}

bool is_not_reached(const Candidate& candidate) {
  return candidate.standing == Standing::not_reached;
}

// How much better than the best an answer with more time may be; empty if nothing is known of that.
std::string most_gain(const Recommendation& found) {
  const bool is_fastest = found.question.goal == Goal::fastest;
  const auto amount = [&](const CandidateTimes& times) {
    return is_fastest ? times.wall_hours : times.cost();
  };
  const CandidateTimes& best = *found.candidates[found.ranking.front()].times;
  double least = amount(best);
  for (const Candidate& candidate : found.candidates) {
    if (is_not_reached(candidate)) least = std::min(least, amount(least_times(found.question, candidate)));
  }
  if (least <= 0 || least >= amount(best)) return "";
  const std::string unit = is_fastest ? " h" : best.money ? "" : " GPU-days";
  return fmt::format(
      " One of them may be better than this answer, by at most {}: no schedule {} less than {}{}.",
      percent(1 - least / amount(best)), unit.empty() ? "costs" : "takes", quantity(least), unit);
}

// What an answer that is not complete lacks.
std::string unfinished(const Recommendation& found) {
  std::size_t n_not_simulated = 0;
  std::size_t n_in_part = 0;
  for (const Candidate& candidate : found.candidates) {
    if (is_not_reached(candidate)) ++(candidate.strategy.empty() ? n_not_simulated : n_in_part);
  }
  const std::string gain = found.ranking.empty() ? "" : most_gain(found);
  if (n_not_simulated + n_in_part == 0) return "Not finished: fewer GPUs may do.";
  if (n_not_simulated == 0)
    return "Not finished: some clusters were not simulated with all strategies." + gain;
  return fmt::format("Not finished: {} of {} clusters were not simulated{}.{}", n_not_simulated,
                     n_clusters(found), n_in_part > 0 ? ", and others not with all strategies" : "", gain);
}

std::string unfinished_text(const Recommendation& found, int width_columns) {
  return found.is_complete ? "" : wrapped(unfinished(found), width_columns, 2);
}

std::string answer(const Recommendation& found, int width_columns) {
  const Question& question = found.question;
  if (found.ranking.empty())
    return wrapped(fmt::format("{}: {}.{}", limits_of(found),
                               found.is_complete ? "none of these clusters"
                               : std::all_of(found.candidates.begin(), found.candidates.end(), is_not_reached)
                                   ? "not known"
                                   : "none of the simulated clusters",
                               likeliest(found)),
                   width_columns, 2) +
           (found.is_complete ? "The last column of the table says what rules out each.\n"
                              : unfinished_text(found, width_columns));
  const Candidate& best = found.candidates[found.ranking.front()];
  std::string text = wrapped(fmt::format("{}: {}, strategy {}.", limits_of(found), cluster_of(question, best),
                                         printable_name(best.strategy)),
                             width_columns, 2) +
                     wrapped(fmt::format("  It takes {}. {}{}", amounts_of(question, *best.times),
                                         fewest_gpus(found), chance_of(found, best)),
                             width_columns, 2) +
                     unfinished_text(found, width_columns);
  Report report = found.report;
  std::erase_if(report.runs, [&](const StrategyResult& run) { return run.name != best.strategy; });
  report.baseline = best.strategy;
  const Verdict settings = verdict(report);
  text += "\n" + text_table(setting_rows(settings)) + wrapped(settings.settings, width_columns, 2);
  const std::vector<std::string> doubts = verdict(found.report).doubts;
  if (!doubts.empty()) text += wrapped(fmt::format("Doubts: {}", fmt::join(doubts, " ")), width_columns, 2);
  const std::vector<std::size_t> runners = runners_up(found);
  if (!runners.empty()) text += "Runners-up:\n";
  for (const std::size_t r : runners)
    text += wrapped(runner_up(found, found.candidates[r]), width_columns, 4);
  return text;
}

std::string change_text(const ChangedCase& changed, const CandidateTimes& now) {
  return changed.times
             ? fmt::format("{}: {}", changed.what, change_of(changed.times->cost(), now.cost()))
             : fmt::format("{}: {}", changed.what, shortened(printable(changed.reason), kWidestReason));
}

std::string sensitivity_text(const Recommendation& found, const std::vector<Sensitivity>& sensitivities,
                             int width_columns) {
  if (sensitivities.empty()) return "";
  const CandidateTimes& now = *found.candidates[found.ranking.front()].times;
  std::string text = fmt::format("\nWhat the {} would be if one thing were otherwise, each planned anew:\n",
                                 now.money ? "money" : "GPU-days");
  std::vector<Row> rows;
  for (const Sensitivity& sensitivity : sensitivities)
    rows.push_back({"  " + shortened(printable_name(sensitivity.what), kWidestThing),
                    change_text(sensitivity.less, now) + "   " + change_text(sensitivity.more, now)});
  std::size_t widest = 0;
  for (const Row& row : rows) widest = std::max(widest, display_columns(row[0]));
  for (const Row& row : rows)
    text += wrapped(row[0] + std::string(widest - display_columns(row[0]) + 2, ' ') + row[1], width_columns,
                    static_cast<int>(widest) + 2);
  return text;
}

}  // namespace

std::string recommendation_text(const Recommendation& found, const std::vector<Sensitivity>& sensitivities,
                                int width_columns) {
  const std::string& source = found.question.price_source;
  return answer(found, width_columns) + cluster_tables(found, width_columns) +
         (source.empty() ? "" : wrapped("Prices: " + printable(source), width_columns, 2)) +
         sensitivity_text(found, sensitivities, width_columns);
}

}  // namespace packsim
