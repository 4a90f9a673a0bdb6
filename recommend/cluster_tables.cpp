#include "recommend/cluster_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "files/text/printable.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

using namespace formats_detail;
using Row = std::vector<std::string>;

// Columns without the last.
constexpr std::size_t kNNumbers = 7;
constexpr std::size_t kWidestName = 20;

std::string name_of(const std::string& name) {
  return shortened(printable_name(name), kWidestName);
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

// Clusters of a type, beside each other, that have no run that is compared: the nearest candidate says why.
struct NoRun {
  const Candidate* nearest = nullptr;
  int most_gpus = 0;
  CandidateTimes least = {};  // of any schedule on any of them; 0: not known
};

NoRun no_run_of(const Recommendation& found, const ClusterKey& cluster) {
  NoRun none;
  for (const Candidate& candidate : found.candidates) {
    if (candidate.offer != cluster.offer || candidate.nodes != cluster.nodes) continue;
    if (none.nearest == nullptr || candidate.standing < none.nearest->standing) none.nearest = &candidate;
  }
  none.most_gpus = none.nearest->n_gpus;
  if (none.nearest->strategy.empty()) none.least = least_times(found.question, *none.nearest);
  return none;
}

// Whether one row can say both.
bool are_alike(const NoRun& one, const NoRun& other) {
  return one.nearest->strategy.empty() && other.nearest->strategy.empty() &&
         one.nearest->offer == other.nearest->offer && one.nearest->reason == other.nearest->reason &&
         (one.least.wall_hours > 0) == (other.least.wall_hours > 0);
}

void add(NoRun& to, const NoRun& next) {
  to.most_gpus = next.most_gpus;
  to.least.wall_hours = std::min(to.least.wall_hours, next.least.wall_hours);
  if (next.least.cost() < to.least.cost()) {
    to.least.gpu_days = next.least.gpu_days;
    to.least.money = next.least.money;
  }
}

Row row_of(const NoRun& none) {
  const Candidate& nearest = *none.nearest;
  std::string reason = printable(nearest.reason);
  if (nearest.standing == Standing::other_job) reason = "other job: " + reason;
  if (nearest.standing == Standing::does_not_fit) reason = "does not fit: " + reason;
  Row row = {none.most_gpus == nearest.n_gpus
                 ? grouped(nearest.n_gpus)
                 : fmt::format("{} to {}", grouped(nearest.n_gpus), grouped(none.most_gpus)),
             nearest.strategy.empty() ? "-" : name_of(nearest.strategy)};
  row.resize(kNNumbers, "-");
  if (none.least.wall_hours > 0) {
    row[2] = ">" + quantity(none.least.wall_hours);
    row[4] = ">" + quantity(none.least.cost());
  }
  row.push_back(reason);
  return row;
}

Row row_of(const Recommendation& found, std::size_t best, double first_gpu_days) {
  const Candidate& candidate = found.candidates[best];
  const CandidateTimes& times = *candidate.times;
  return {grouped(candidate.n_gpus),
          name_of(candidate.strategy),
          quantity(times.wall_hours),
          quantity(times.wall_hours_high),
          quantity(times.cost()),
          quantity(times.money_high.value_or(times.gpu_days_high)),
          percent(first_gpu_days / times.gpu_days),
          state_of(found, best)};
}

// A row for the best candidate of each cluster, and for why those beside each other have none.
void add_rows(const Recommendation& found, const std::vector<ClusterKey>& clusters, std::vector<Row>& rows) {
  std::optional<double> first_gpu_days;
  std::optional<NoRun> none;
  const auto end_none = [&] {
    if (none) rows.push_back(row_of(*none));
    none.reset();
  };
  for (const ClusterKey& cluster : clusters) {
    if (const auto best = best_of_cluster(found, cluster.offer, cluster.nodes)) {
      end_none();
      if (!first_gpu_days) first_gpu_days = found.candidates[*best].times->gpu_days;
      rows.push_back(row_of(found, *best, *first_gpu_days));
      continue;
    }
    const NoRun next = no_run_of(found, cluster);
    if (none && are_alike(*none, next)) {
      add(*none, next);
    } else {
      end_none();
      none = next;
    }
  }
  end_none();
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

}  // namespace

std::size_t n_clusters(const Recommendation& found) {
  return clusters_of(found).size();
}

std::string cluster_tables(const Recommendation& found, int width_columns) {
  std::string text;
  const std::vector<ClusterKey> clusters = clusters_of(found);
  const std::vector<ClusterOffer>& offers = found.question.offers;
  for (std::size_t o = 0; o < offers.size(); ++o) {
    const ClusterOffer& offer = offers[o];
    // Parts of nodes are offers of their own.
    if (std::any_of(offers.begin(), offers.begin() + static_cast<std::ptrdiff_t>(o),
                    [&](const ClusterOffer& before) { return before.has_same_gpus(offer); }))
      continue;
    std::vector<Row> rows = {{"GPUs", "strategy", "hours", "to", offer.gpu_hour_price ? "money" : "GPU-days",
                              "to", "efficiency", "limits"}};
    std::vector<ClusterKey> of_type;
    for (const ClusterKey& cluster : clusters) {
      if (offers[cluster.offer].has_same_gpus(offer)) of_type.push_back(cluster);
    }
    add_rows(found, of_type, rows);
    const std::string price =
        offer.gpu_hour_price ? fmt::format(", {} a GPU-hour", *offer.gpu_hour_price) : "";
    if (o == 0) text += "\n";
    text += wrapped(printable(name_of(offer)) + price, width_columns, 2);
    text += table_with_reasons(rows, width_columns);
  }
  return text;
}

}  // namespace packsim
