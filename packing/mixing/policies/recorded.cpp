#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/mixing/mixing_policy.hpp"

namespace packsim::mixing_detail {
namespace {

class Recorded final : public MixingState {
 public:
  explicit Recorded(std::vector<RecordedProbabilities> rows) : rows_(std::move(rows)) {}

  MixtureProbabilities probabilities(std::int64_t step) const override {
    const auto after = std::ranges::upper_bound(rows_, step, {}, &RecordedProbabilities::step);
    return std::prev(after)->probabilities;
  }

 private:
  std::vector<RecordedProbabilities> rows_;
};

// Makes them add up to 1, which recorded decimals do not quite. Arms may have none.
void normalise_recorded(std::vector<double>& p, std::size_t n, const std::string& place) {
  if (p.size() != n) {
    throw std::invalid_argument(place + ": expected " + std::to_string(n) + " probabilities, got " +
                                std::to_string(p.size()));
  }
  for (const double value : p) {
    if (!(value >= 0) || !std::isfinite(value))
      throw std::invalid_argument(place + ": expected probabilities of at least 0, got " +
                                  std::to_string(value));
  }
  constexpr double kTolerance = 0.01;
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  if (std::abs(sum - 1) > kTolerance)
    throw std::invalid_argument(place + ": expected probabilities that add up to 1, got a sum of " +
                                std::to_string(sum));
  for (double& value : p) value /= sum;
}

std::unique_ptr<MixingState> make_recorded(const Arms& arms, const MixingOptions& options) {
  std::vector<RecordedProbabilities> rows = options.recorded;
  if (rows.empty() || rows.front().step != 0)
    throw std::invalid_argument("recorded: expected probabilities from step 0 on, got none");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string place = "recorded: step " + std::to_string(rows[i].step);
    if (i > 0 && rows[i].step <= rows[i - 1].step)
      throw std::invalid_argument(place + ": expected ascending steps, got it behind step " +
                                  std::to_string(rows[i - 1].step));
    MixtureProbabilities& p = rows[i].probabilities;
    normalise_recorded(p.subsets, arms.n_subsets(), place);
    if (p.groups.empty()) p.groups = groups_by_size(arms);
    if (p.groups.size() != arms.n_subsets())
      throw std::invalid_argument(place + ": expected groups of " + std::to_string(arms.n_subsets()) +
                                  " subsets, got " + std::to_string(p.groups.size()));
    for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset)
      normalise_recorded(p.groups[subset], arms.n_groups(subset),
                         place + ": subset " + std::to_string(subset));
  }
  return std::make_unique<Recorded>(std::move(rows));
}

constexpr std::array<std::string_view, 1> kRecordedOptions = {"recorded"};

}  // namespace

extern const MixingPolicy recorded = {
    .name = "recorded",
    .summary = "Probabilities by step, from a training run or as decided; each row holds until the next.",
    .source = "",
    .options = kRecordedOptions,
    .make = make_recorded,
};

}  // namespace packsim::mixing_detail
