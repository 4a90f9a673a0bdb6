#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/mixing/mixing_policy.hpp"

namespace packsim::mixing_detail {
namespace {

class Still final : public MixingState {
 public:
  explicit Still(MixtureProbabilities probabilities) : probabilities_(std::move(probabilities)) {}
  MixtureProbabilities probabilities(std::int64_t /*step*/) const override { return probabilities_; }

 private:
  MixtureProbabilities probabilities_;
};

std::unique_ptr<MixingState> make_static(const Arms& arms, const MixingOptions& options) {
  const std::vector<double> weights = options.weights.empty() ? subset_sizes(arms) : options.weights;
  if (weights.size() != arms.n_subsets()) {
    throw std::invalid_argument("weights: expected " + std::to_string(arms.n_subsets()) +
                                ", one for each subset, got " + std::to_string(weights.size()));
  }
  return std::make_unique<Still>(MixtureProbabilities{tempered(weights, 1), groups_by_size(arms)});
}

std::unique_ptr<MixingState> make_temperature(const Arms& arms, const MixingOptions& options) {
  return std::make_unique<Still>(
      MixtureProbabilities{tempered(subset_sizes(arms), options.temperature), groups_by_size(arms)});
}

std::unique_ptr<MixingState> make_uniform(const Arms& arms, const MixingOptions& /*options*/) {
  MixtureProbabilities equal{std::vector<double>(arms.n_subsets(), 1 / static_cast<double>(arms.n_subsets())),
                             {}};
  for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset) {
    const std::size_t n = arms.n_groups(subset);
    equal.groups.emplace_back(n, 1 / static_cast<double>(n));
  }
  return std::make_unique<Still>(std::move(equal));
}

constexpr std::array<std::string_view, 1> kStaticOptions = {"weights"};
constexpr std::array<std::string_view, 1> kTemperatureOptions = {"temperature"};

}  // namespace

extern const MixingPolicy static_policy = {
    .name = "static",
    .summary = "Given weights of the subsets; without any, every sample is equally likely.",
    .source = "",
    .options = kStaticOptions,
    .make = make_static,
};

extern const MixingPolicy temperature = {
    .name = "temperature",
    .summary = "Subsets by (share of samples)^(1/temperature); samples of a subset are equally likely.",
    .source = "Conneau et al., arXiv 1911.02116, section 3.1",
    .options = kTemperatureOptions,
    .make = make_temperature,
};

extern const MixingPolicy uniform = {
    .name = "uniform",
    .summary = "All subsets are equally likely, and all groups of a subset.",
    .source = "",
    .make = make_uniform,
};

}  // namespace packsim::mixing_detail
