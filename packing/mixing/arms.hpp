#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace packsim {

/// The arms of a mixture: samples in subsets, each of which is cut into groups, such as levels of difficulty.
/// A group of a subset is an arm. Arms are numbered subset after subset.
class Arms {
 public:
  /// subset_of, group_of: [n_samples], numbers from 0. Throws std::invalid_argument unless both are equally
  /// long and every subset below the largest number, and every group of it below its own, has a sample.
  Arms(std::span<const std::uint32_t> subset_of, std::span<const std::uint32_t> group_of);

  std::size_t n_samples() const { return samples_.size(); }
  std::size_t n_subsets() const { return first_arm_.size() - 1; }
  std::size_t n_groups(std::size_t subset) const { return first_arm_[subset + 1] - first_arm_[subset]; }
  std::size_t n_arms() const { return first_sample_.size() - 1; }
  std::size_t arm(std::size_t subset, std::size_t group) const { return first_arm_[subset] + group; }
  std::size_t subset_of_arm(std::size_t arm) const;
  /// Indices of the arm's samples, ascending.
  std::span<const std::uint32_t> samples(std::size_t arm) const {
    return {samples_.data() + first_sample_[arm], samples_.data() + first_sample_[arm + 1]};
  }
  std::size_t subset_size(std::size_t subset) const {
    return first_sample_[first_arm_[subset + 1]] - first_sample_[first_arm_[subset]];
  }

 private:
  std::vector<std::size_t> first_arm_;     // [n_subsets + 1]
  std::vector<std::size_t> first_sample_;  // [n_arms + 1]
  std::vector<std::uint32_t> samples_;
};

/// [n_samples] groups of nearly equal size by ascending score: the first group has the smallest scores. Equal
/// scores are in the order of the samples, and of n samples the first n mod n_groups groups have one more
/// than the others, so that none is left out.
///
/// scores: finite. Throws std::invalid_argument for another score, and unless 1 <= n_groups <= n_samples.
std::vector<std::uint32_t> quantile_groups(std::span<const double> scores, std::size_t n_groups);

}  // namespace packsim
