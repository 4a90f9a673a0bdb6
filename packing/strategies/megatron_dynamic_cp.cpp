// Megatron-LM's dynamic context parallelism: next_hdp_group_packing_aware of
// megatron/core/datasets/data_schedule_utils.py (dev, d48bd6b). Every GPU has one pack a round, and a sample
// may run at a larger CP degree than it needs where that evens out the work.

#include <algorithm>
#include <limits>

#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/cp_blocks.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

// A GPU's work in a round may go over a full pack of samples of the longest one's length by this part.
constexpr double kWorkSlack = 0.05;

class DynamicCpScheduler {
 public:
  // samples: longest first.
  DynamicCpScheduler(const CpGroups& groups, Items samples) : groups_(groups), left_(std::move(samples)) {}

  bool done() const { return left_.empty(); }

  std::vector<CpBlock> next_round() {
    blocks_.clear();
    const std::size_t tallest = groups_.group_for(left_.front());
    const double per_gpu_tokens =
        static_cast<double>(groups_.capacity_tokens(tallest)) / static_cast<double>(groups_.degree(tallest));
    most_work_ = static_cast<double>(groups_.length(left_.front())) * per_gpu_tokens * (1.0 + kWorkSlack);
    Items passed;
    for (const ItemIndex item : left_) {
      CpBlock* block = blocks_.empty() ? open_block(tallest) : block_for(item);
      if (block == nullptr) {
        passed.push_back(item);
      } else {
        groups_.add(*block, item);
      }
    }
    while (groups_.grow_a_block(blocks_)) {
    }
    if (n_free() > 0 && groups_.degree(groups_.n_groups() - 1) == groups_.n_gpus()) return share_all_gpus();
    left_ = std::move(passed);
    groups_.sort_side_by_side(blocks_);
    return std::move(blocks_);
  }

 private:
  std::size_t n_free() const { return groups_.n_gpus() - groups_.n_busy(blocks_); }

  CpBlock* open_block(std::size_t group) { return &blocks_.emplace_back(CpBlock{.group = group}); }

  // The first place, by ascending degree and the blocks there are before new ones, that gives the least
  // work to the GPU with the most of it, within the limits of tokens and work. Null if there is none.
  CpBlock* block_for(ItemIndex item) {
    const double now = std::ranges::max_element(blocks_, {}, &CpBlock::work)->work;
    double best_work = std::numeric_limits<double>::infinity();
    CpBlock* best = nullptr;
    std::size_t new_group = groups_.n_groups();
    const auto is_better = [&](double work) { return work <= most_work_ && work < best_work; };
    for (std::size_t group = groups_.group_for(item); group < groups_.n_groups(); ++group) {
      const double added = groups_.work(item, group);
      for (CpBlock& block : blocks_) {
        if (block.group != group) continue;
        if (block.tokens + groups_.length(item) > groups_.capacity_tokens(group)) continue;
        const double work = std::max(now, block.work + added);
        if (!is_better(work)) continue;
        best_work = work;
        best = &block;
        new_group = groups_.n_groups();
      }
      const double work = std::max(now, added);
      if (n_free() >= groups_.degree(group) && is_better(work)) {
        best_work = work;
        new_group = group;
      }
    }
    return new_group < groups_.n_groups() ? open_block(new_group) : best;
  }

  // If blocks cannot grow to fill all GPUs, all of them share one pack.
  std::vector<CpBlock> share_all_gpus() {
    CpBlock all{.group = groups_.n_groups() - 1};
    Items passed;
    for (const ItemIndex item : left_) {
      const bool fits = all.tokens + groups_.length(item) <= groups_.capacity_tokens(all.group);
      if (fits || all.items.empty()) {
        groups_.add(all, item);
      } else {
        passed.push_back(item);
      }
    }
    left_ = std::move(passed);
    return {all};
  }

  const CpGroups& groups_;
  Items left_;
  std::vector<CpBlock> blocks_;
  double most_work_ = 0;
};

void place_dynamic_batch(const CpGroups& groups, Items batch, BatchPlanBuilder& plan) {
  std::ranges::stable_sort(batch, std::greater{}, [&](ItemIndex item) { return groups.length(item); });
  DynamicCpScheduler scheduler(groups, std::move(batch));
  for (std::size_t round = 0; !scheduler.done(); ++round) {
    std::size_t first_gpu = 0;
    for (const CpBlock& block : scheduler.next_round()) {
      plan.place(block.items, block.group, first_gpu, round);
      first_gpu += groups.degree(block.group);
    }
  }
  plan.end_iteration();
}

BatchPlan plan_megatron_dynamic_cp(const BatchProblem& problem) {
  const CpGroups groups(problem, "megatron_dynamic_cp");
  groups.check_samples("megatron_dynamic_cp");
  BatchPlanBuilder plan(problem.setting);
  for (const Items& batch : global_batches(problem)) place_dynamic_batch(groups, batch, plan);
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy megatron_dynamic_cp = {
    .name = "megatron_dynamic_cp",
    .summary =
        "A global batch at a time, packs on blocks of GPUs with equal sums of squared lengths, more GPUs "
        "than needed where that evens out the work.",
    .complexity = "O(N B)",
    .source = "Megatron-LM dev data_schedule_utils.py",
    .plan_batches = plan_megatron_dynamic_cp,
    .options = kGlobalBatchOptions,
    .plan_limits = {.most_zero_stage = 1},
    .mixes_groups = true,
};

}  // namespace packsim::strategies_detail
