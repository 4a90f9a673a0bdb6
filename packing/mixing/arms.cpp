#include "packing/mixing/arms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace packsim {
namespace {

std::size_t one_more_than_largest(std::span<const std::uint32_t> numbers) {
  return numbers.empty() ? 0 : std::size_t{*std::ranges::max_element(numbers)} + 1;
}

void check_arms(std::span<const std::uint32_t> subset_of, std::span<const std::uint32_t> group_of) {
  if (subset_of.size() != group_of.size()) {
    throw std::invalid_argument("group_of: expected one group for each of " +
                                std::to_string(subset_of.size()) + " samples, got " +
                                std::to_string(group_of.size()));
  }
  if (subset_of.empty()) throw std::invalid_argument("subset_of: expected at least one sample, got none");
  // More numbers than samples would leave some subset or group empty; sizes are not to be trusted before.
  for (const auto& [name, numbers] : {std::pair("subset_of", subset_of), std::pair("group_of", group_of)}) {
    if (one_more_than_largest(numbers) > numbers.size()) {
      throw std::invalid_argument(std::string(name) + ": expected numbers below the " +
                                  std::to_string(numbers.size()) + " samples, got " +
                                  std::to_string(one_more_than_largest(numbers) - 1));
    }
  }
}

}  // namespace

Arms::Arms(std::span<const std::uint32_t> subset_of, std::span<const std::uint32_t> group_of) {
  check_arms(subset_of, group_of);
  const std::size_t n_subsets = one_more_than_largest(subset_of);
  std::vector<std::size_t> n_groups(n_subsets, 0);
  for (std::size_t i = 0; i < subset_of.size(); ++i)
    n_groups[subset_of[i]] = std::max<std::size_t>(n_groups[subset_of[i]], group_of[i] + 1);
  first_arm_.push_back(0);
  for (std::size_t subset = 0; subset < n_subsets; ++subset) {
    if (n_groups[subset] == 0)
      throw std::invalid_argument("subset_of: expected a sample in subset " + std::to_string(subset) +
                                  ", got none");
    first_arm_.push_back(first_arm_.back() + n_groups[subset]);
    if (first_arm_.back() > subset_of.size())
      throw std::invalid_argument(
          "group_of: expected a sample in every group of every subset, got more groups than samples");
  }
  std::vector<std::size_t> sizes(first_arm_.back(), 0);
  for (std::size_t i = 0; i < subset_of.size(); ++i) ++sizes[arm(subset_of[i], group_of[i])];
  first_sample_.push_back(0);
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    if (sizes[a] == 0) {
      const std::size_t subset = subset_of_arm(a);
      throw std::invalid_argument("group_of: expected a sample in group " +
                                  std::to_string(a - first_arm_[subset]) + " of subset " +
                                  std::to_string(subset) + ", got none");
    }
    first_sample_.push_back(first_sample_.back() + sizes[a]);
  }
  samples_.resize(subset_of.size());
  std::vector<std::size_t> next(first_sample_.begin(), first_sample_.end() - 1);
  for (std::size_t i = 0; i < subset_of.size(); ++i)
    samples_[next[arm(subset_of[i], group_of[i])]++] = static_cast<std::uint32_t>(i);
}

std::size_t Arms::subset_of_arm(std::size_t arm) const {
  const auto after = std::ranges::upper_bound(first_arm_, arm);
  return static_cast<std::size_t>(after - first_arm_.begin()) - 1;
}

std::vector<std::uint32_t> quantile_groups(std::span<const double> scores, std::size_t n_groups) {
  if (n_groups < 1 || n_groups > scores.size()) {
    throw std::invalid_argument("n_groups: expected 1 to " + std::to_string(scores.size()) +
                                ", as many as there are samples, got " + std::to_string(n_groups));
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i])) {
      throw std::invalid_argument("scores: expected finite numbers, got " + std::to_string(scores[i]) +
                                  " for sample " + std::to_string(i));
    }
  }
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return scores[i]; });
  std::vector<std::uint32_t> groups(scores.size());
  const std::size_t size = scores.size() / n_groups;
  const std::size_t n_larger = scores.size() % n_groups;
  std::size_t next = 0;
  for (std::size_t group = 0; group < n_groups; ++group) {
    const std::size_t end = next + size + (group < n_larger ? 1 : 0);
    for (; next < end; ++next) groups[order[next]] = static_cast<std::uint32_t>(group);
  }
  return groups;
}

}  // namespace packsim
