#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiment/results/report.hpp"

/// The data sets that chart specs name, each an array of rows. Rows of many values hold them as arrays, which
/// the specs flatten.
namespace packsim::formats_detail {

using ChartRows = nlohmann::ordered_json;

ChartRows run_rows(const Report& report);        ///< a row per run, the cheapest first
ChartRows cost_rows(const Report& report);       ///< money of each run; none without a price
ChartRows part_rows(const Report& report);       ///< what some run spends time on
ChartRows time_part_rows(const Report& report);  ///< a row per run and part
/// The same with whole units of GPU-days that add up, and two rows more for each run, of its total. None with
/// fewer than two runs that have times.
ChartRows waterfall_rows(const Report& report);
ChartRows length_rows(const Report& report);
ChartRows step_time_rows(const Report& report);   ///< step times over the run
ChartRows step_share_rows(const Report& report);  ///< the share of steps that take at most so long
ChartRows abr_rows(const Report& report);         ///< ABR over the run
ChartRows timeline_rows(const Report& report);    ///< chosen steps, a row per rank
ChartRows rank_work_rows(const Report& report);   ///< attention work of every rank in some iterations
ChartRows memory_rows(const Report& report);      ///< of each run's group that needs most
ChartRows pack_rows(const Report& report);        ///< packs of each group
ChartRows evidence_rows(const Report& report);    ///< shares of GPU time by cause and evidence

// Only scenarios with a mixture have these rows.
ChartRows mixture_global_rows(const Report& report);  ///< a row per subset: its probability by step
ChartRows mixture_local_rows(const Report& report);   ///< a row per group of subsets with several
ChartRows mixture_length_rows(const Report& report);  ///< a row per window
ChartRows mixture_window_rows(const Report& report);  ///< a row per run that packs windows
ChartRows mixture_burst_rows(const Report& report);   ///< a row per run: when rewards are measured, and how long
ChartRows mixture_draw_rows(const Report& report);    ///< samples by how often they were drawn

/// What those have in common.
double five_digits(double value);
/// The runs with times, the cheapest first, and then the others.
std::vector<const StrategyResult*> by_gpu_days(const Report& report);
/// Where bars of GPU-days end. A run that takes over three times the median would squash the others: its bar
/// is broken off a quarter behind the longest of these. 0 if no run has times.
double longest_bar_gpu_days(const Report& report);
/// Every so many-th of n things, at most `most` of them, the first and the last among them.
std::vector<std::size_t> evenly_spaced(std::size_t n, std::size_t most);

}  // namespace packsim::formats_detail
