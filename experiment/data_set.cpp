#include "experiment/data_set.hpp"

#include "experiment/results/length_summary.hpp"

namespace packsim {
namespace {

LengthSummary summarize(const DrawnLengths& drawn) {
  LengthSummary summary = summarize_lengths(drawn.lengths_tokens);
  for (const DrawnSource& source : drawn.sources) {
    summary.sources.push_back({.name = source.name,
                               .hash = source.hash,
                               .n_samples = source.n_samples,
                               .n_tokens = source.n_tokens,
                               .repeated_samples = source.repeated_samples});
  }
  return summary;
}

}  // namespace

DataSet draw_data(const Scenario& scenario) {
  DataSet data{.drawn = draw_lengths(scenario.lengths, scenario.seed),
               .summary = {},
               .packs = std::make_unique<PackCache>()};
  data.summary = summarize(data.drawn);
  return data;
}

}  // namespace packsim
