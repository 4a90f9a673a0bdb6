#include "reports/charts/chart_data.hpp"

#include "reports/charts/data/chart_rows.hpp"
#include "reports/charts/shown_runs.hpp"

namespace packsim::formats_detail {
namespace {

struct DataSet {
  const char* name;
  ChartRows (*rows)(const Report&);
};

constexpr DataSet kDataSets[] = {
    {"runs", run_rows},
    {"cost", cost_rows},
    {"parts", part_rows},
    {"time_parts", time_part_rows},
    {"waterfall", waterfall_rows},
    {"lengths", length_rows},
    {"step_times", step_time_rows},
    {"step_shares", step_share_rows},
    {"abr", abr_rows},
    {"timelines", timeline_rows},
    {"rank_work", rank_work_rows},
    {"memory", memory_rows},
    {"packs", pack_rows},
    {"evidence", evidence_rows},
    {"mixture_global", mixture_global_rows},
    {"mixture_local", mixture_local_rows},
    {"mixture_lengths", mixture_length_rows},
    {"mixture_windows", mixture_window_rows},
    {"mixture_bursts", mixture_burst_rows},
    {"mixture_draws", mixture_draw_rows},
};

}  // namespace

bool ChartData::has_rows(std::string_view name) const {
  const auto found = sets.find(name);
  return found != sets.end() && !found->empty();
}

ChartData chart_data(const Report& report) {
  const Report shown = with_shown_runs(report);
  ChartData data;
  for (const DataSet& set : kDataSets) data.sets[set.name] = set.rows(shown);
  return data;
}

}  // namespace packsim::formats_detail
