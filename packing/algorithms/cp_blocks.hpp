#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "packing/batch_problem.hpp"

namespace packsim {

/// GPUs that share samples in a row. Blocks lie side by side from GPU 0 on.
struct CpBlock {
  std::size_t group = 0;
  std::vector<ItemIndex> items = {};
  std::int64_t tokens = 0;
  double work = 0;  ///< sum over its items of length^2 / CP degree: what a GPU has to do
};

/// What Megatron's schedulers of dynamic context parallelism ask of the groups of a setting: the CP degrees
/// that a sample may run at. A group's capacity is what its GPUs hold together.
class CpGroups {
 public:
  /// Throws std::invalid_argument, naming the strategy, unless degrees ascend and each is a multiple of the
  /// one before, as blocks of GPUs could not lie side by side otherwise.
  CpGroups(const BatchProblem& problem, std::string_view strategy);

  /// Refuses samples that no group of at most n_gpus GPUs can run. Throws std::invalid_argument, naming the
  /// first one.
  void check_samples(std::string_view strategy) const;

  /// The group of the least degree that holds a sample; the last one for a sample that is to have its own
  /// pack.
  std::size_t group_for(ItemIndex item) const;

  std::size_t n_groups() const { return n_groups_; }  ///< with at most n_gpus GPUs
  std::size_t n_gpus() const { return n_gpus_; }
  std::size_t degree(std::size_t group) const {
    return static_cast<std::size_t>(problem_.setting.groups[group].gpus_per_pack);
  }
  std::int64_t capacity_tokens(std::size_t group) const {
    return problem_.setting.groups[group].capacity_tokens;
  }
  std::int64_t length(ItemIndex item) const { return problem_.items.lengths_tokens[item]; }
  double work(ItemIndex item, std::size_t group) const;

  std::size_t n_busy(const std::vector<CpBlock>& blocks) const;

  void add(CpBlock& block, ItemIndex item) const;

  /// Gives idle GPUs to the first block of the least degree, which then runs at the next degree. False where
  /// no GPU is idle or no block can grow.
  bool grow_a_block(std::vector<CpBlock>& blocks) const;

 private:
  const BatchProblem& problem_;
  std::size_t n_gpus_;
  std::size_t n_groups_;
};

}  // namespace packsim
