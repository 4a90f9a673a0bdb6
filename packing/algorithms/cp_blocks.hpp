#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "packing/batch_problem.hpp"

namespace packsim {

/// A block of neighbouring GPUs that share samples by context parallelism. The first block starts at GPU 0,
/// and each other block where the one before it ends.
struct CpBlock {
  std::size_t group = 0;
  std::vector<ItemIndex> items = {};
  std::int64_t tokens = 0;
  double work = 0;  ///< sum over its items of length^2 / CP degree: what a GPU has to do
};

/// The groups of a setting as Megatron's dynamic context-parallel schedulers use them: the CP degrees that a
/// sample may run at. The GPUs of a group hold capacity_tokens together.
class CpGroups {
 public:
  /// Throws std::invalid_argument, naming the strategy, unless degrees ascend and each is a multiple of the
  /// one before. Otherwise blocks of GPUs could not lie side by side.
  CpGroups(const BatchProblem& problem, std::string_view strategy);

  /// Throws std::invalid_argument if a sample does not fit into any group of at most n_gpus GPUs. The message
  /// names the first such sample.
  void check_samples(std::string_view strategy) const;

  /// The group of the smallest degree that can hold the sample. If none can, because the sample is to have
  /// its own pack, the last group.
  std::size_t group_for(ItemIndex item) const;

  std::size_t n_groups() const { return n_groups_; }  ///< groups with at most n_gpus GPUs
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

  /// Gives idle GPUs to the first block of the smallest degree, which then runs at the next degree. Returns
  /// false if that block is at the largest degree already or too few GPUs are idle.
  bool grow_a_block(std::vector<CpBlock>& blocks) const;

  /// The order in which blocks lie side by side on the GPUs: widest first, and as they are where degrees are
  /// equal. Each block then begins at a multiple of its degree.
  void sort_side_by_side(std::vector<CpBlock>& blocks) const;

 private:
  const BatchProblem& problem_;
  std::size_t n_gpus_;
  std::size_t n_groups_;
};

}  // namespace packsim
