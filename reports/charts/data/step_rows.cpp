#include <fmt/format.h>

#include <span>

#include "reports/charts/data/chart_rows.hpp"
#include "reports/text/gpu_text.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

// A row of bins as arrays.
ChartRows bins_row(const StrategyResult& run, std::span<const IterationBin> bins) {
  ChartRows row = {{"run", run.name}};
  for (const IterationBin& bin : bins) {
    row["first"].push_back(bin.first_iteration);
    row["last"].push_back(bin.last_iteration);
    row["least"].push_back(five_digits(bin.least));
    row["mean"].push_back(five_digits(bin.mean));
    row["most"].push_back(five_digits(bin.most));
  }
  return row;
}

// "slowest: iteration 7, 1.5 s"
std::string step_name(const StepTimeline& timeline) {
  return fmt::format("{}: iteration {}, {} s", timeline.which, grouped(timeline.iteration),
                     quantity(timeline.step_s));
}

}  // namespace

ChartRows step_time_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report))
    if (run->times && !run->times->steps.empty()) rows.push_back(bins_row(*run, run->times->steps));
  return rows;
}

ChartRows abr_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report))
    if (!run->abr_over_run.empty()) rows.push_back(bins_row(*run, run->abr_over_run));
  return rows;
}

ChartRows step_share_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    if (!run->times || run->times->step_quantiles_s.empty()) continue;
    const std::vector<double>& quantiles_s = run->times->step_quantiles_s;
    ChartRows row = {{"run", run->name}};
    // The line begins on the axis, at the fastest step.
    row["share"].push_back(0);
    row["step_s"].push_back(five_digits(quantiles_s.front()));
    for (std::size_t k = 0; k < quantiles_s.size(); ++k) {
      row["share"].push_back(
          five_digits(static_cast<double>(k + 1) / static_cast<double>(quantiles_s.size())));
      row["step_s"].push_back(five_digits(quantiles_s[k]));
    }
    rows.push_back(row);
  }
  return rows;
}

ChartRows timeline_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    if (!run->times) continue;
    for (const StepTimeline& timeline : run->times->timelines) {
      const bool has_stages = !timeline.lanes.empty() && timeline.lanes.back().gpus.stage > 0;
      for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
        const TimelineLane& lane = timeline.lanes[l];
        ChartRows row = {{"run", run->name},
                         {"which", timeline.which},
                         {"step", step_name(timeline)},
                         {"tick_s", five_digits(timeline.step_s / StepTimeline::kTicks)},
                         {"lane", rank_text(lane.gpus, has_stages)},
                         {"lane_index", l},
                         {"gpus", gpus_text(lane.gpus)}};
        for (const TimelineLane::Span& span : lane.spans) {
          row["activity"].push_back(static_cast<int>(span.activity));
          row["first"].push_back(span.first_tick);
          row["end"].push_back(span.end_tick);
        }
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace packsim::formats_detail
