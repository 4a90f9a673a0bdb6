#include "reports/charts/chart_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/time_parts.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostSamples = 4;  // side by side in rank_work.vl.json
constexpr std::size_t kMostBars = 128;   // of one sample; more would be thinner than a pixel

double five_digits(double value) {
  return std::isfinite(value) ? std::stod(fmt::format("{:.5g}", value)) : value;
}

std::string gpu_days_label(const StrategyResult& run, const Report& report) {
  if (run.failure) return "failed: " + *run.failure;
  if (!run.feasible) return "does not fit: " + memory_excess(run);
  std::string days = run.times ? quantity(run.times->gpu_days) : "-";
  if (!run.differences.empty()) days += ", another job";
  if (run.name == report.baseline) return days + " (baseline)";
  return run.speedup ? fmt::format("{} ({:.2f}x)", days, *run.speedup) : days;
}

// The runs with times, the cheapest first, and then the others.
std::vector<const StrategyResult*> by_gpu_days(const Report& report) {
  std::vector<const StrategyResult*> sorted;
  for (const StrategyResult& run : report.runs) sorted.push_back(&run);
  std::ranges::stable_sort(sorted, {}, [](const StrategyResult* run) {
    return has_time(*run) ? run->times->gpu_days : std::numeric_limits<double>::infinity();
  });
  return sorted;
}

// Where bars end. A run that takes over three times the median would squash the others: its bar is broken off
// a quarter behind the longest of these.
double longest_bar_gpu_days(const std::vector<const StrategyResult*>& sorted) {
  std::vector<double> gpu_days;
  for (const StrategyResult* run : sorted)
    if (has_time(*run)) gpu_days.push_back(run->times->gpu_days);
  if (gpu_days.empty()) return 0;
  const double most = 3 * gpu_days[(gpu_days.size() - 1) / 2];
  if (gpu_days.back() <= most) return gpu_days.back();
  return 1.25 * *std::prev(std::ranges::upper_bound(gpu_days, most));
}

Json runs(const Report& report) {
  Json rows = Json::array();
  const std::vector<const StrategyResult*> sorted = by_gpu_days(report);
  const double longest = longest_bar_gpu_days(sorted);
  for (const StrategyResult* each : sorted) {
    const StrategyResult& run = *each;
    const bool has_interval = has_time(run) && run.times->gpu_days_low > 0;
    rows.push_back(
        {{"run", run.name},
         {"bar_gpu_days", has_time(run) ? five_digits(std::min(run.times->gpu_days, longest)) : 0.0},
         {"broken", has_time(run) && run.times->gpu_days > longest},
         {"low_gpu_days", has_interval ? Json(five_digits(run.times->gpu_days_low)) : Json()},
         {"high_gpu_days", has_interval ? Json(five_digits(run.times->gpu_days_high)) : Json()},
         {"interval",
          has_interval ? Json(quantity(run.times->gpu_days_low) + " to " + quantity(run.times->gpu_days_high))
                       : Json("not known")},
         {"bound_gpu_days", run.bound ? Json(five_digits(run.bound->gpu_days)) : Json()},
         {"role", run.name == report.baseline ? "baseline" : "compared"},
         {"feasible", run.feasible},
         {"gpu_days", has_time(run) ? five_digits(run.times->gpu_days) : 0.0},
         {"label", gpu_days_label(run, report)},
         {"misfit", run.failure    ? "failed"
                    : run.feasible ? ""
                                   : "does not fit in memory"}});
  }
  return rows;
}

// What no run has would be an empty entry of the legend.
std::vector<TimePart> parts_of(const Report& report) {
  std::vector<TimePart> parts;
  for (const TimePart& part : time_parts()) {
    const auto has_it = [&](const StrategyResult& run) { return has_time(run) && part.fraction(run) > 0; };
    if (std::ranges::any_of(report.runs, has_it)) parts.push_back(part);
  }
  return parts;
}

Json parts(const Report& report) {
  Json rows = Json::array();
  for (const TimePart& part : parts_of(report))
    rows.push_back({{"part", part.name}, {"position", rows.size()}});
  return rows;
}

Json time_part_rows(const Report& report) {
  Json rows = Json::array();
  for (const TimePart& part : parts_of(report)) {
    for (const StrategyResult& run : report.runs) {
      if (!has_time(run)) continue;
      rows.push_back({{"run", run.name},
                      {"part", part.name},
                      {"fraction", five_digits(part.fraction(run))},
                      {"gpu_days", five_digits(part.gpu_days(run))}});
    }
  }
  return rows;
}

Json lengths(const Report& report) {
  const LengthSummary& lengths = report.lengths;
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : five_digits(static_cast<double>(part) / static_cast<double>(whole));
  };
  Json rows = Json::array();
  for (const LengthSummary::Bin& bin : lengths.histogram) {
    const bool single = bin.from_tokens + 1 == bin.to_tokens;
    rows.push_back({{"length", capacity(bin.to_tokens)},
                    {"range", single ? grouped(bin.to_tokens)
                                     : grouped(bin.from_tokens + 1) + " to " + grouped(bin.to_tokens)},
                    {"n_samples", bin.n_samples},
                    {"n_tokens", bin.n_tokens},
                    {"samples", share(bin.n_samples, lengths.n_samples)},
                    {"tokens", share(bin.n_tokens, lengths.n_tokens)}});
  }
  return rows;
}

Json step_times(const Report& report) {
  Json rows = Json::array();
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const StrategyResult& run = report.runs[r];
    if (!run.times || run.times->steps.empty()) continue;
    Json row = {{"run", run.name}, {"run_index", r}};
    for (const StepTimeBin& bin : run.times->steps) {
      row["first"].push_back(bin.first_iteration);
      row["last"].push_back(bin.last_iteration);
      row["min_s"].push_back(five_digits(bin.min_s));
      row["mean_s"].push_back(five_digits(bin.mean_s));
      row["max_s"].push_back(five_digits(bin.max_s));
    }
    rows.push_back(row);
  }
  return rows;
}

// Every so many-th of n things, the first and the last among them.
std::vector<std::size_t> evenly_spaced(std::size_t n, std::size_t most) {
  const std::size_t count = std::min(n, most);
  std::vector<std::size_t> chosen(count, 0);
  for (std::size_t i = 1; i < count; ++i) chosen[i] = i * (n - 1) / (count - 1);
  return chosen;
}

// Bars are GPUs where SP degrees differ; packs are then of many lengths.
std::string packs_text(const SampledIteration& sample) {
  return sample.gpus_per_pack
             ? fmt::format("{}, SP {}", capacity(sample.capacity_tokens), *sample.gpus_per_pack)
             : "mixed SP";
}

// Busiest rank first, so that the empty area beside a falling edge is the ABR.
Json sampled_iteration(const SampledIteration& sample) {
  std::vector<double> pairs = sample.attention_pairs;
  std::ranges::sort(pairs, std::greater<>());
  const double busiest = pairs.empty() ? 0 : pairs.front();
  Json row = {{"iteration", sample.iteration},
              {"n_ranks", pairs.size()},
              {"n_bars", std::min(pairs.size(), kMostBars)},
              {"caption", fmt::format("iteration {}, {}: ABR {}", grouped(sample.iteration),
                                      packs_text(sample), ratio(sample.abr))}};
  for (const std::size_t rank : evenly_spaced(pairs.size(), kMostBars)) {
    row["work"].push_back(busiest > 0 ? five_digits(pairs[rank] / busiest) : 0.0);
    row["pairs"].push_back(five_digits(pairs[rank]));
  }
  return row;
}

Json rank_work(const Report& report) {
  Json rows = Json::array();
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const StrategyResult& run = report.runs[r];
    const auto chosen = evenly_spaced(run.sampled_iterations.size(), kMostSamples);
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      Json row = {{"run", run.name}, {"run_index", r}, {"sample", s}};
      row.update(sampled_iteration(run.sampled_iterations[chosen[s]]));
      rows.push_back(row);
    }
  }
  return rows;
}

// A data set that specs may name.
struct DataSet {
  std::string_view name;
  Json (*rows)(const Report&);
};

constexpr DataSet kDataSets[] = {
    {"runs", runs},
    {"parts", parts},  // what some run spends time on
    {"time_parts", time_part_rows},
    {"lengths", lengths},
    {"step_times", step_times},
    {"rank_work", rank_work},
};

}  // namespace

bool ChartData::has_rows(std::string_view name) const {
  return std::ranges::find(with_rows, name) != with_rows.end();
}

ChartData chart_data(const Report& report) {
  ChartData data;
  Json all;
  for (const DataSet& set : kDataSets) {
    Json rows = set.rows(report);
    if (!rows.empty()) data.with_rows.emplace_back(set.name);
    all[std::string(set.name)] = std::move(rows);
  }
  data.json = all.dump(-1, ' ', false, Json::error_handler_t::replace);
  return data;
}

}  // namespace packsim::formats_detail
