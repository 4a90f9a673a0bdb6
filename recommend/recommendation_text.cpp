#include "recommend/recommendation_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "files/text/printable.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"
#include "reports/verdict/verdict.hpp"

namespace packsim {
namespace {

using namespace formats_detail;
using Row = std::vector<std::string>;

constexpr double kHoursPerDay = 24;
// Columns of the table of clusters, without the last.
constexpr std::size_t kNNumbers = 7;
constexpr std::size_t kWidestName = 20;
constexpr std::size_t kWidestReason = 60;
constexpr std::size_t kWidestThing = 36;
constexpr std::size_t kMostRunnersUp = 3;

std::string name_of(const std::string& name) {
  return shortened(printable_name(name), kWidestName);
}

std::string cluster_of(const Question& question, const Candidate& candidate) {
  return fmt::format("{} {} of {} ({} {})", candidate.nodes, candidate.nodes == 1 ? "node" : "nodes",
                     printable_name(question.offers[candidate.offer].type), grouped(candidate.n_gpus),
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

std::string limits_of(const Question& question) {
  std::vector<std::string> limits;
  if (question.limits.deadline_hours)
    limits.push_back(fmt::format("at most {} h", quantity(*question.limits.deadline_hours)));
  if (question.limits.budget)
    limits.push_back("at most " + with_currency(question, quantity(*question.limits.budget)));
  if (question.limits.most_gpus)
    limits.push_back(fmt::format("at most {} GPUs", grouped(*question.limits.most_gpus)));
  const char* goal = question.goal == Goal::cheapest ? "The cheapest" : "The fastest";
  return limits.empty() ? std::string(goal)
                        : fmt::format("{} that takes {} with 90% confidence", goal, fmt::join(limits, ", "));
}

std::string change_of(double value, double base) {
  return fmt::format("{:+.1f}%", 100 * (value / base - 1));
}

const std::string& type_of(const Recommendation& found, const Candidate& candidate) {
  return found.question.offers[candidate.offer].type;
}

// The next best, with the best of every other type of GPUs among them.
std::vector<std::size_t> runners_up(const Recommendation& found) {
  std::vector<std::size_t> chosen;
  std::vector<std::string> types = {type_of(found, found.candidates[found.ranking.front()])};
  for (const std::size_t other : found.ranking) {
    const std::string& type = type_of(found, found.candidates[other]);
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
  return fmt::format("Fewest GPUs that meet all limits: {}.",
                     found.fewest_gpus ? grouped(*found.fewest_gpus) : "none of these");
}

std::string answer(const Recommendation& found, int width_columns) {
  const Question& question = found.question;
  if (found.ranking.empty())
    return wrapped(limits_of(question) + ": none of these clusters.", width_columns, 2) +
           wrapped("The last column of the table says what rules out each.", width_columns, 2);
  const Candidate& best = found.candidates[found.ranking.front()];
  std::string text =
      wrapped(fmt::format("{}: {}, strategy {}.", limits_of(question), cluster_of(question, best),
                          printable_name(best.strategy)),
              width_columns, 2) +
      wrapped(fmt::format("  It takes {}. {}", amounts_of(question, *best.times), fewest_gpus(found)),
              width_columns, 2);
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

struct ClusterKey {
  std::size_t offer = 0;
  int nodes = 0;
};

std::vector<ClusterKey> clusters_of(const Recommendation& found) {
  std::vector<ClusterKey> clusters;
  for (const Candidate& candidate : found.candidates) {
    if (clusters.empty() ||
        std::tie(clusters.back().offer, clusters.back().nodes) != std::tie(candidate.offer, candidate.nodes))
      clusters.push_back({candidate.offer, candidate.nodes});
  }
  return clusters;
}

std::string state_of(const Recommendation& found, std::size_t index) {
  const Candidate& candidate = found.candidates[index];
  if (candidate.standing == Standing::misses) return candidate.reason;
  if (!found.ranking.empty() && found.ranking.front() == index) return "the best";
  return std::ranges::find(found.pareto, index) != found.pareto.end() ? "meets, on front" : "meets";
}

// The best candidate of a cluster, or why it has none: what its strategy that came nearest says.
Row row_of(const Recommendation& found, const ClusterKey& cluster, std::optional<double>& first_gpu_days) {
  if (const auto best = best_of_cluster(found, cluster.offer, cluster.nodes)) {
    const Candidate& candidate = found.candidates[*best];
    const CandidateTimes& times = *candidate.times;
    if (!first_gpu_days) first_gpu_days = times.gpu_days;
    Row row = {grouped(candidate.n_gpus), name_of(candidate.strategy), quantity(times.wall_hours),
               quantity(times.wall_hours_high)};
    row.push_back(quantity(times.cost()));
    row.push_back(quantity(times.money_high.value_or(times.gpu_days_high)));
    row.push_back(percent(*first_gpu_days / times.gpu_days));
    row.push_back(state_of(found, *best));
    return row;
  }
  const Candidate* nearest = nullptr;
  for (const Candidate& candidate : found.candidates) {
    if (candidate.offer != cluster.offer || candidate.nodes != cluster.nodes) continue;
    if (nearest == nullptr || candidate.standing < nearest->standing) nearest = &candidate;
  }
  std::string reason = printable(nearest->reason);
  if (nearest->standing == Standing::other_job) reason = "other job: " + reason;
  if (nearest->standing == Standing::does_not_fit) reason = "does not fit: " + reason;
  Row row = {grouped(nearest->n_gpus), nearest->strategy.empty() ? "-" : name_of(nearest->strategy)};
  row.resize(kNNumbers, "-");
  const bool is_bounded = nearest->strategy.empty() && nearest->least_gpu_hours > 0;
  if (is_bounded) {  // no less than what any schedule takes
    const auto& price = found.question.offers[cluster.offer].gpu_hour_price;
    row[2] = ">" + quantity(nearest->least_gpu_hours / nearest->n_gpus);
    row[4] = ">" + quantity(nearest->least_gpu_hours * (price ? *price : 1 / kHoursPerDay));
  }
  row.push_back(reason);
  return row;
}

// A table whose last column is text, which is broken where the line ends.
std::string table_with_reasons(const std::vector<Row>& rows, int width_columns) {
  std::vector<Row> numbers;
  for (const Row& row : rows) numbers.emplace_back(row.begin(), row.end() - 1);
  const std::vector<std::string> lines = table_lines(numbers);
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const int indent = static_cast<int>(display_columns(lines[r])) + 2;
    text += wrapped(lines[r] + "  " + rows[r].back(), width_columns, std::min(indent, width_columns / 2));
  }
  return text;
}

// Parts of nodes are offers of their own.
bool is_same_gpu(const ClusterOffer& one, const ClusterOffer& other) {
  return one.type == other.type && one.gpu_hour_price == other.gpu_hour_price;
}

// A table for each type of cluster.
std::string clusters_text(const Recommendation& found, int width_columns) {
  std::string text;
  const std::vector<ClusterKey> clusters = clusters_of(found);
  const std::vector<ClusterOffer>& offers = found.question.offers;
  for (std::size_t o = 0; o < offers.size(); ++o) {
    const ClusterOffer& offer = offers[o];
    if (std::any_of(offers.begin(), offers.begin() + static_cast<std::ptrdiff_t>(o),
                    [&](const ClusterOffer& before) { return is_same_gpu(before, offer); }))
      continue;
    std::vector<Row> rows = {{"GPUs", "strategy", "hours", "to", offer.gpu_hour_price ? "money" : "GPU-days",
                              "to", "efficiency", "limits"}};
    std::optional<double> first_gpu_days;
    for (const ClusterKey& cluster : clusters) {
      if (is_same_gpu(offers[cluster.offer], offer)) rows.push_back(row_of(found, cluster, first_gpu_days));
    }
    const std::string price =
        offer.gpu_hour_price ? fmt::format(", {} a GPU-hour", *offer.gpu_hour_price) : "";
    text += "\n" + wrapped(printable(offer.type) + price, width_columns, 2);
    text += table_with_reasons(rows, width_columns);
  }
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
  return answer(found, width_columns) + clusters_text(found, width_columns) +
         sensitivity_text(found, sensitivities, width_columns);
}

}  // namespace packsim
