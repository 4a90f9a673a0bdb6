// Megatron-LM's hybrid context parallelism: BalancedCPScheduler of
// megatron/core/pipeline_parallel/hybrid_cp_schedule.py (main, d98e8a6). Samples run one by one, each at the
// CP degree of its block; all GPUs wait for each other between one set of blocks and the next.

#include <algorithm>
#include <set>

#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/cp_blocks.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

// GPUs count as balanced where the least loaded one is within this part of the most loaded one.
constexpr double kSlack = 0.05;
// A bucket is closed before it goes over its share of the work by more than this part.
constexpr double kBucketSlack = 0.1;

struct Bucket {
  Items items;
  std::size_t next = 0;

  bool empty() const { return next == items.size(); }
};

// Forms one set of blocks after another from the samples that are left.
class HybridCpScheduler {
 public:
  HybridCpScheduler(const CpGroups& groups, Items samples) : groups_(groups), left_(std::move(samples)) {}

  bool done() const { return left_.empty(); }

  std::vector<CpBlock> next_blocks() {
    blocks_.clear();
    buckets_ = make_buckets();
    left_.clear();
    fill_blocks();
    for (const Bucket& bucket : buckets_) {
      left_.insert(left_.end(), bucket.items.begin() + static_cast<std::ptrdiff_t>(bucket.next),
                   bucket.items.end());
    }
    trim_overload();
    while (groups_.grow_a_block(blocks_)) {
    }
    groups_.sort_side_by_side(blocks_);
    return std::move(blocks_);
  }

 private:
  double work(ItemIndex item) const { return groups_.work(item, groups_.group_for(item)); }

  // Consecutive samples of about equal work, as many buckets as the samples need CP degrees.
  std::vector<Bucket> make_buckets() const {
    std::set<std::size_t> needed;
    double total = 0;
    for (const ItemIndex item : left_) {
      needed.insert(groups_.group_for(item));
      total += work(item);
    }
    const double share = total / static_cast<double>(needed.size());
    std::vector<Bucket> buckets;
    Items open;
    double open_work = 0;
    // How many samples are kept back for buckets to come. Megatron counts every closed bucket twice here.
    auto kept_back = static_cast<std::ptrdiff_t>(needed.size());
    for (std::size_t i = 0; i < left_.size(); ++i) {
      const double added = work(left_[i]);
      const bool too_much = open_work + added > share * (1.0 + kBucketSlack);
      if (!open.empty() && (too_much || std::ssize(left_) - static_cast<std::ptrdiff_t>(i) <= kept_back)) {
        buckets.push_back({std::move(open)});
        open.clear();
        open_work = 0;
        kept_back -= 2;
      }
      open.push_back(left_[i]);
      open_work += added;
    }
    if (!open.empty()) buckets.push_back({std::move(open)});
    return buckets;
  }

  std::size_t n_free() const { return groups_.n_gpus() - groups_.n_busy(blocks_); }

  // Where a sample that needs this group goes: the least loaded block of the group, or new GPUs if they have
  // less to do. Null if there is neither.
  CpBlock* block_for(std::size_t group) {
    CpBlock* best = nullptr;
    for (CpBlock& block : blocks_) {
      if (block.group == group && (best == nullptr || block.work < best->work)) best = &block;
    }
    if (n_free() >= groups_.degree(group) && (best == nullptr || best->work > 0)) {
      best = &blocks_.emplace_back(CpBlock{.group = group});
    }
    return best;
  }

  void fill_blocks() {
    std::size_t first_group = groups_.n_groups();
    bool check_balance = false;
    while (!buckets_.empty()) {
      CpBlock* block = nullptr;
      for (Bucket& bucket : buckets_) {
        if (bucket.empty()) continue;
        block = block_for(groups_.group_for(bucket.items[bucket.next]));
        if (block == nullptr) continue;
        groups_.add(*block, bucket.items[bucket.next++]);
        break;
      }
      if (block == nullptr) return;
      if (first_group == groups_.n_groups()) first_group = block->group;
      check_balance |= block->group < first_group;
      const auto filled = std::ranges::find_if(buckets_, [](const Bucket& b) { return !b.empty(); });
      buckets_.erase(buckets_.begin(), filled);
      if (check_balance && balanced()) return;
    }
  }

  double most_work() const { return std::ranges::max_element(blocks_, {}, &CpBlock::work)->work; }
  double least_work() const {
    return n_free() > 0 ? 0 : std::ranges::min_element(blocks_, {}, &CpBlock::work)->work;
  }
  bool balanced() const { return most_work() - least_work() <= kSlack * most_work(); }

  // Takes the last sample off the block with the most work for as long as that evens out the work.
  void trim_overload() {
    while (!balanced() && least_work() > 0) {
      CpBlock& most = *std::ranges::max_element(blocks_, {}, &CpBlock::work);
      if (most.items.size() <= 1) return;
      const double slack = most_work() - least_work();
      const ItemIndex last = most.items.back();
      const double removed = groups_.work(last, most.group);
      most.work -= removed;
      if (most_work() - least_work() >= slack) {
        most.work += removed;
        return;
      }
      most.items.pop_back();
      most.tokens -= groups_.length(last);
      left_.push_back(last);
    }
  }

  const CpGroups& groups_;
  Items left_;
  std::vector<Bucket> buckets_;
  std::vector<CpBlock> blocks_;
};

void place_hybrid_batch(const CpGroups& groups, Items batch, BatchPlanBuilder& plan) {
  std::ranges::stable_sort(batch, std::greater{}, [&](ItemIndex item) { return groups.length(item); });
  HybridCpScheduler scheduler(groups, std::move(batch));
  std::size_t first_round = 0;
  while (!scheduler.done()) {
    std::size_t first_gpu = 0;
    std::size_t n_rounds = 0;
    for (const CpBlock& block : scheduler.next_blocks()) {
      for (std::size_t i = 0; i < block.items.size(); ++i) {
        const bool after_barrier = first_round > 0 && i == 0;
        plan.place(std::span(&block.items[i], 1), block.group, first_gpu, first_round + i, after_barrier);
      }
      first_gpu += groups.degree(block.group);
      n_rounds = std::max(n_rounds, block.items.size());
    }
    first_round += n_rounds;
  }
  plan.end_iteration();
}

BatchPlan plan_megatron_hybrid_cp(const BatchProblem& problem) {
  const CpGroups groups(problem, "megatron_hybrid_cp");
  groups.check_samples("megatron_hybrid_cp");
  BatchPlanBuilder plan(problem.setting);
  for (const Items& batch : global_batches(problem)) place_hybrid_batch(groups, batch, plan);
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy megatron_hybrid_cp = {
    .name = "megatron_hybrid_cp",
    .summary =
        "A global batch at a time, each sample alone on as few GPUs as hold it, sets of GPUs with equal sums "
        "of squared lengths, a barrier between sets.",
    .complexity = "O(N B)",
    .source = "Megatron-LM hybrid_cp_schedule.py",
    .plan_batches = plan_megatron_hybrid_cp,
    .trains_samples_alone = true,
    .options = kGlobalBatchOptions,
    .plan_limits = {.most_zero_stage = 1, .has_pipelines = false, .has_latent_attention = false},
    .mixes_groups = true,
};

}  // namespace packsim::strategies_detail
