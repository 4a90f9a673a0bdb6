#include "experiment/data_set.hpp"

#include "experiment/mixing/mixed_draws.hpp"
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

namespace {

// The draws of a mixture as a data set of their own.
DataSet draw_mixed_data(const Scenario& scenario) {
  DataSet data{.drawn = {},
               .summary = {},
               .mixture = std::make_unique<const MixedDraws>(draw_mixture(scenario)),
               .still_mixture = std::make_unique<const MixedDraws>(draw_mixture(scenario, true)),
               .packs = std::make_unique<PackCache>()};
  const MixedDraws& draws = *data.mixture;
  data.drawn = {.lengths_tokens = draws.lengths_tokens, .sources = draws.sources};
  std::vector<std::int64_t> times(draws.sample_lengths_tokens.size(), 0);
  for (DrawnSource& source : data.drawn.sources) source = {.name = source.name, .hash = source.hash};
  for (std::size_t i = 0; i < draws.samples.size(); ++i) {
    DrawnSource& source = data.drawn.sources[draws.arms.subset_of_arm(draws.arm_of[i])];
    ++source.n_samples;
    source.n_tokens += draws.lengths_tokens[i];
    if (++times[draws.samples[i]] == 2) ++source.repeated_samples;
  }
  data.summary = summarize(data.drawn);
  return data;
}

}  // namespace

DataSet draw_data(const Scenario& scenario) {
  if (scenario.mixing) return draw_mixed_data(scenario);
  DataSet data{.drawn = draw_lengths(scenario.lengths, scenario.seed),
               .summary = {},
               .mixture = nullptr,
               .still_mixture = nullptr,
               .packs = std::make_unique<PackCache>()};
  data.summary = summarize(data.drawn);
  return data;
}

}  // namespace packsim
