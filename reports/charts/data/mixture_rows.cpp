#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/data/chart_rows.hpp"

namespace packsim::formats_detail {
namespace {

// Windows of a long run, so that a chart stays small.
constexpr std::size_t kMostWindows = 400;

std::string group_name(const MixtureSummary::Subset& subset, std::size_t group) {
  return subset.groups.size() == 1 ? "all" : fmt::format("group {}", group);
}

}  // namespace

ChartRows mixture_global_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  if (!report.mixture || report.mixture->subsets.size() < 2) return rows;
  const MixtureSummary& mixture = *report.mixture;
  for (std::size_t i = 0; i < mixture.subsets.size(); ++i) {
    ChartRows row = {{"subset", mixture.subsets[i].name}};
    for (const std::size_t w : evenly_spaced(mixture.windows.size(), kMostWindows)) {
      row["step"].push_back(mixture.windows[w].first_step);
      row["share"].push_back(five_digits(mixture.windows[w].probabilities.subsets[i]));
    }
    rows.push_back(row);
  }
  return rows;
}

ChartRows mixture_local_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  if (!report.mixture) return rows;
  const MixtureSummary& mixture = *report.mixture;
  for (std::size_t i = 0; i < mixture.subsets.size(); ++i) {
    const MixtureSummary::Subset& subset = mixture.subsets[i];
    if (subset.groups.size() < 2) continue;
    for (std::size_t g = 0; g < subset.groups.size(); ++g) {
      ChartRows row = {{"subset", subset.name}, {"group", group_name(subset, g)}};
      for (const std::size_t w : evenly_spaced(mixture.windows.size(), kMostWindows)) {
        row["step"].push_back(mixture.windows[w].first_step);
        row["share"].push_back(five_digits(mixture.windows[w].probabilities.groups[i][g]));
      }
      rows.push_back(row);
    }
  }
  return rows;
}

ChartRows mixture_length_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  if (!report.mixture || report.mixture->windows.size() < 2) return rows;
  const MixtureSummary& mixture = *report.mixture;
  for (const std::size_t w : evenly_spaced(mixture.windows.size(), kMostWindows)) {
    const MixtureSummary::Window& window = mixture.windows[w];
    const double mean =
        static_cast<double>(window.n_tokens) / static_cast<double>(std::max<std::int64_t>(1, window.n_draws));
    rows.push_back({{"step", window.first_step},
                    {"mean", five_digits(mean)},
                    {"median", window.median_tokens},
                    {"p99", window.p99_tokens},
                    {"longest", window.longest_tokens}});
  }
  return rows;
}

ChartRows mixture_window_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    if (!run->mixture || run->mixture->windows.size() < 2) continue;
    ChartRows row = {{"run", run->name}};
    const std::vector<MixtureWindowResult>& windows = run->mixture->windows;
    for (const std::size_t w : evenly_spaced(windows.size(), kMostWindows)) {
      row["first"].push_back(windows[w].first_iteration);
      row["end"].push_back(windows[w].first_iteration + windows[w].n_iterations);
      row["abr"].push_back(five_digits(windows[w].abr));
      row["fill"].push_back(five_digits(windows[w].fill_fraction));
      row["gpu_days"].push_back(five_digits(windows[w].gpu_days));
      row["probes_s"].push_back(five_digits(windows[w].probes_s));
    }
    rows.push_back(row);
  }
  return rows;
}

ChartRows mixture_burst_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    if (!run->mixture) continue;
    ChartRows row = {{"run", run->name}};
    std::size_t n = 0;
    const std::vector<MixtureWindowResult>& windows = run->mixture->windows;
    for (const std::size_t w : evenly_spaced(windows.size(), kMostWindows)) {
      if (windows[w].probes_s <= 0) continue;
      row["at"].push_back(windows[w].first_iteration + windows[w].n_iterations);
      row["probes_s"].push_back(five_digits(windows[w].probes_s));
      ++n;
    }
    if (n > 0) rows.push_back(row);
  }
  return rows;
}

ChartRows mixture_draw_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  if (!report.mixture) return rows;
  const std::vector<std::int64_t>& samples = report.mixture->samples_by_draws;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const bool is_last = k > 0 && k + 1 == samples.size() && k >= 20;
    rows.push_back({{"times", is_last ? fmt::format("{} or more", k) : fmt::format("{}", k)},
                    {"order", k},
                    {"n_samples", samples[k]}});
  }
  return rows;
}

}  // namespace packsim::formats_detail
