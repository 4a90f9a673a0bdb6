// WLB-LLM's variable-length packing with outlier delay (Wang et al., OSDI 2025, arXiv 2503.17924).

#include <algorithm>
#include <array>
#include <deque>
#include <stdexcept>
#include <string>

#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

constexpr IntegerOption kOutlierQueues = integer_option(
    "outlier_queues", {.default_value = 2, .least = 0, .most = 1000},
    "Queues in which long samples wait until there is one for each micro-batch; 0: none waits.");

constexpr OptionalIntegerOption kOutlierThresholdTokens = optional_integer_option(
    "outlier_threshold_tokens", {.default_value = -1, .least = -1, .most = kLongestCapacityTokens},
    "Samples of at least this length wait; -1: half the capacity.");

constexpr OptionalIntegerOption kMicroBatchTokens = optional_integer_option(
    "micro_batch_tokens", {.default_value = -1, .least = -1, .most = kLongestCapacityTokens},
    "Mean tokens of a micro-batch; sets the number of micro-batches; -1: half the capacity.");

struct OpenPack {
  Items items;
  std::int64_t tokens = 0;
  double documents_work = 0;
  double work = 0;
};

// What a micro-batch takes: its group's cost in seconds or, where there is none, the linear and the quadratic
// part of a transformer's work in any unit.
class Workload {
 public:
  explicit Workload(const BatchProblem& problem)
      : cost_(problem.setting.groups[0].cost),
        linear_weight_(static_cast<double>(problem.items.options[kLinearWeightTokens])),
        priced_(!cost_.tokens_s.tokens.empty() || !cost_.document_s.tokens.empty()) {}

  void add(OpenPack& batch, ItemIndex item, std::int64_t length) const {
    const auto tokens = static_cast<double>(length);
    batch.items.push_back(item);
    batch.tokens += length;
    batch.documents_work += priced_ ? cost_.document_s.at(length) : tokens * tokens;
    batch.work = priced_ ? cost_.pack_s(batch.tokens, batch.documents_work)
                         : batch.documents_work + linear_weight_ * static_cast<double>(batch.tokens);
  }

 private:
  const PackCost& cost_;
  double linear_weight_;
  bool priced_;
};

// Long documents wait in queues by length until there is one for each micro-batch of a step.
class OutlierQueues {
 public:
  explicit OutlierQueues(const PackProblem& problem)
      : n_queues_(static_cast<std::size_t>(problem.options[kOutlierQueues])),
        threshold_(problem.options[kOutlierThresholdTokens].value_or(problem.capacity_tokens / 2)),
        longest_(problem.capacity_tokens),
        queues_(n_queues_) {}

  bool delays(std::int64_t length) const { return n_queues_ > 0 && length >= threshold_; }

  // Queues share the lengths from the threshold to the capacity in equal parts.
  void push(ItemIndex item, std::int64_t length) {
    const std::int64_t part = std::max<std::int64_t>(1, (longest_ - threshold_) / std::ssize(queues_));
    const auto queue = static_cast<std::size_t>((length - threshold_) / part);
    queues_[std::min(queue, n_queues_ - 1)].push_back(item);
  }

  void release(std::size_t n_micro_batches, Items& documents) {
    for (auto& queue : queues_) {
      if (queue.size() < n_micro_batches) continue;
      const auto end = queue.begin() + static_cast<std::ptrdiff_t>(n_micro_batches);
      documents.insert(documents.end(), queue.begin(), end);
      queue.erase(queue.begin(), end);
    }
  }

  void release_all(Items& documents) {
    for (auto& queue : queues_) {
      documents.insert(documents.end(), queue.begin(), queue.end());
      queue.clear();
    }
  }

 private:
  std::size_t n_queues_;
  std::int64_t threshold_;
  std::int64_t longest_;
  std::vector<std::deque<ItemIndex>> queues_;
};

class Wlb {
 public:
  explicit Wlb(const BatchProblem& problem)
      : problem_(problem),
        n_ranks_(uniform_dp_ranks(problem.setting, "wlb")),
        n_micro_batches_(n_ranks_ * micro_batches_per_rank()),
        workload_(problem),
        queues_(problem.items),
        plan_(problem.setting) {}

  BatchPlan run() && {
    for (const Items& batch : global_batches(problem_, {.tokens = problem_.setting.tokens_per_iteration})) {
      for (const ItemIndex item : batch) {
        if (queues_.delays(length(item))) {
          queues_.push(item, length(item));
        } else {
          documents_.push_back(item);
        }
      }
      queues_.release(n_micro_batches_, documents_);
      step();
    }
    flush();
    return std::move(plan_).finish();
  }

 private:
  std::int64_t length(ItemIndex item) const { return problem_.items.lengths_tokens[item]; }

  std::size_t micro_batches_per_rank() const {
    const auto asked = problem_.items.options[kMicroBatchTokens];
    const std::int64_t mean = std::max<std::int64_t>(1, asked.value_or(problem_.items.capacity_tokens / 2));
    const std::int64_t round_tokens = mean * static_cast<std::int64_t>(n_ranks_);
    const std::int64_t n = (problem_.setting.tokens_per_iteration + round_tokens - 1) / round_tokens;
    if (n > kMostRounds) {
      throw std::invalid_argument("micro_batch_tokens: expected at most " + std::to_string(kMostRounds) +
                                  " micro-batches a rank, got " + std::to_string(n));
    }
    return static_cast<std::size_t>(std::max<std::int64_t>(1, n));
  }

  bool fits(const OpenPack& batch, std::int64_t length) const {
    return batch.items.empty() || batch.tokens + length <= problem_.items.capacity_tokens;
  }

  // Longest first, to the micro-batch with the least work, else to the one with the fewest tokens; what fits
  // neither waits for the next step.
  void step() {
    std::ranges::stable_sort(documents_, std::greater{}, [&](ItemIndex item) { return length(item); });
    std::vector<OpenPack> batches(n_micro_batches_);
    Items left;
    for (const ItemIndex item : documents_) {
      auto chosen = std::ranges::min_element(batches, {}, &OpenPack::work);
      if (!fits(*chosen, length(item))) chosen = std::ranges::min_element(batches, {}, &OpenPack::tokens);
      if (fits(*chosen, length(item))) {
        workload_.add(*chosen, item, length(item));
      } else {
        left.push_back(item);
      }
    }
    documents_ = std::move(left);
    std::vector<Items> packs;
    for (OpenPack& batch : batches) packs.push_back(std::move(batch.items));
    place_in_turn(plan_, problem_.setting, n_ranks_, packs);
    plan_.end_iteration();
  }

  // Trains what still waits at the end of the data, in steps of the usual size.
  void flush() {
    Items waiting = std::move(documents_);
    queues_.release_all(waiting);
    documents_.clear();
    for (std::size_t next = 0; next < waiting.size() || !documents_.empty();) {
      std::int64_t tokens = 0;
      for (const ItemIndex item : documents_) tokens += length(item);
      while (next < waiting.size() && (documents_.empty() || tokens + length(waiting[next]) <=
                                                                 problem_.setting.tokens_per_iteration)) {
        tokens += length(waiting[next]);
        documents_.push_back(waiting[next++]);
      }
      step();
    }
  }

  const BatchProblem& problem_;
  std::size_t n_ranks_;
  std::size_t n_micro_batches_;
  Workload workload_;
  OutlierQueues queues_;
  BatchPlanBuilder plan_;
  Items documents_;  // of the next step
};

BatchPlan plan_wlb(const BatchProblem& problem) {
  return Wlb(problem).run();
}

constexpr std::array<const Option*, 6> kWlbOptions = {
    &kOutlierQueues, &kOutlierThresholdTokens, &kMicroBatchTokens, &kLinearWeightTokens, &kShuffle, &kSeed};

// Full micro-batches, and no queues: which is best depends on how many samples are long.
std::vector<OptionValues> wlb_options(std::int64_t capacity_tokens) {
  return {{{kMicroBatchTokens.name, capacity_tokens}},
          {{kOutlierQueues.name, 0}},
          {{kMicroBatchTokens.name, capacity_tokens}, {kOutlierQueues.name, 0}}};
}

}  // namespace

extern constinit const Strategy wlb = {
    .name = "wlb",
    .summary =
        "A global batch at a time, longest first to the micro-batch with the least work; long samples wait "
        "until there is one for each micro-batch.",
    .complexity = "O(N B)",
    .source = "WLB-LLM arXiv 2503.17924",
    .plan_batches = plan_wlb,
    .options = kWlbOptions,
    .searched_options = wlb_options,
};

}  // namespace packsim::strategies_detail
