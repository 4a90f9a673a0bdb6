#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "reports/charts/data/chart_rows.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

constexpr std::size_t kMostSamples = 4;  // from which a reader chooses
constexpr std::size_t kMostBars = 128;   // of one sample; more would be thinner than a pixel

// Bars are GPUs where SP degrees differ; packs are then of many lengths.
std::string packs_text(const SampledIteration& sample) {
  return sample.gpus_per_pack
             ? fmt::format("{}, SP {}", capacity(sample.capacity_tokens), *sample.gpus_per_pack)
             : "mixed SP";
}

// Busiest rank first, so that the empty area beside a falling edge is the ABR.
ChartRows sampled_iteration(const SampledIteration& sample) {
  std::vector<double> pairs = sample.attention_pairs;
  std::ranges::sort(pairs, std::greater<>());
  const double busiest = pairs.empty() ? 0 : pairs.front();
  ChartRows row = {{"iteration", sample.iteration},
                   {"abr", five_digits(sample.abr)},
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

}  // namespace

ChartRows rank_work_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    const auto chosen = evenly_spaced(run->sampled_iterations.size(), kMostSamples);
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      ChartRows row = {{"run", run->name}, {"sample", s + 1}};
      row.update(sampled_iteration(run->sampled_iterations[chosen[s]]));
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace packsim::formats_detail
