#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "packing/mixing/mixing_policy.hpp"

namespace packsim {

namespace mixing_detail {
extern const MixingPolicy static_policy, temperature, uniform, recorded, hbo, odm;
}

std::span<const MixingPolicy> mixing_policies() {
  namespace d = mixing_detail;
  static const std::array all = {d::static_policy, d::temperature, d::uniform, d::recorded, d::hbo, d::odm};
  return all;
}

const MixingPolicy* find_mixing_policy(std::string_view name) {
  const std::span<const MixingPolicy> all = mixing_policies();
  const auto found = std::ranges::find(all, name, &MixingPolicy::name);
  return found == all.end() ? nullptr : &*found;
}

const MixingPolicy& known_mixing_policy(std::string_view name) {
  if (const MixingPolicy* found = find_mixing_policy(name)) return *found;
  std::string names;
  for (const MixingPolicy& policy : mixing_policies())
    names += (names.empty() ? "" : ", ") + std::string(policy.name);
  throw std::invalid_argument("mixing policy: expected one of " + names + ", got \"" + std::string(name) +
                              "\"");
}

void MixingState::update(const MixtureRewards& /*rewards*/, std::int64_t /*n_updates*/) {}

void MixingState::set_numbers(std::span<const double> numbers) {
  if (!numbers.empty())
    throw std::invalid_argument("state: expected no numbers of a policy that does not learn, got some");
}

std::vector<double> tempered(std::span<const double> weights, double temperature) {
  if (!(temperature > 0))
    throw std::invalid_argument("temperature: expected a number above 0, got " + std::to_string(temperature));
  if (weights.empty()) throw std::invalid_argument("weights: expected at least one, got none");
  for (const double weight : weights) {
    if (!(weight > 0) || !std::isfinite(weight))
      throw std::invalid_argument("weights: expected numbers above 0, got " + std::to_string(weight));
  }
  // Weights are divided by the largest one, so no power or sum leaves the range of double.
  const double largest = *std::ranges::max_element(weights);
  std::vector<double> p(weights.size());
  std::ranges::transform(weights, p.begin(),
                         [&](double weight) { return std::pow(weight / largest, 1 / temperature); });
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

std::vector<double> subset_sizes(const Arms& arms) {
  std::vector<double> sizes;
  for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset)
    sizes.push_back(static_cast<double>(arms.subset_size(subset)));
  return sizes;
}

std::vector<std::vector<double>> groups_by_size(const Arms& arms) {
  std::vector<std::vector<double>> groups(arms.n_subsets());
  for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset) {
    for (std::size_t group = 0; group < arms.n_groups(subset); ++group) {
      groups[subset].push_back(static_cast<double>(arms.samples(arms.arm(subset, group)).size()) /
                               static_cast<double>(arms.subset_size(subset)));
    }
  }
  return groups;
}

}  // namespace packsim
