#include "models/coverage/schedule_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>

#include "models/coverage/step_kernels.hpp"
#include "packing/schedule/pack_use_counts.hpp"

namespace packsim {
namespace {

void add_run(Documents& documents, std::int64_t n_documents, std::int64_t length_tokens) {
  if (n_documents == 0 || length_tokens == 0) return;
  if (!documents.runs.empty() && documents.runs.back().length_tokens == length_tokens) {
    documents.runs.back().n_documents += n_documents;
  } else {
    documents.runs.push_back({n_documents, length_tokens});
  }
}

// Micro-batches of about the same number of tokens a GPU.
struct TokenBin {
  double n = 0;
  double tokens = 0;
};

void add_tokens(KernelUses& uses, const StepPlan& plan, std::span<const MicroBatch> batches,
                std::span<const std::uint32_t> trainings, double gpu_fraction, int steps_per_octave) {
  std::map<std::int64_t, TokenBin> bins;
  for (std::size_t p = 0; p < batches.size(); ++p) {
    const std::int64_t padded = batches[p].tokens + batches[p].padded_tokens;
    const std::int64_t tokens = (padded + plan.sequence.ulysses - 1) / plan.sequence.ulysses;
    if (trainings[p] == 0 || tokens == 0) continue;
    const double position = std::log2(static_cast<double>(tokens)) * steps_per_octave;
    TokenBin& bin = bins[std::llround(position)];
    bin.n += static_cast<double>(trainings[p]);
    bin.tokens += static_cast<double>(trainings[p]) * static_cast<double>(tokens);
  }
  for (const auto& [position, bin] : bins) {
    const std::int64_t tokens = std::max<std::int64_t>(1, std::llround(bin.tokens / bin.n));
    add_micro_batch(uses, plan, tokens, gpu_fraction * bin.tokens / static_cast<double>(tokens));
  }
}

void add_sampled_attention(KernelUses& uses, const StepPlan& plan, const Packing& packing, std::size_t group,
                           std::span<const MicroBatch> batches, std::span<const std::uint32_t> trainings,
                           double gpu_fraction, int n_samples) {
  std::vector<std::uint32_t> order = balanced_order(batches);
  std::erase_if(order, [&](std::uint32_t pack) { return batches[pack].computed_pairs == 0; });
  const std::int64_t n = std::transform_reduce(order.begin(), order.end(), std::int64_t{0}, std::plus<>(),
                                               [&](std::uint32_t pack) { return trainings[pack]; });
  if (n == 0) return;
  const std::int64_t n_runs = std::min<std::int64_t>(n, n_samples);
  std::size_t at = 0;
  std::int64_t left = trainings[order[at]];  // of the trainings of the pack at `at`
  for (std::int64_t run = 0; run < n_runs; ++run) {
    const std::int64_t length = (run + 1) * n / n_runs - run * n / n_runs;
    double pairs = 0;
    std::uint32_t middle = 0;
    for (std::int64_t taken = 0; taken < length;) {
      while (left == 0) left = trainings[order[++at]];
      const std::int64_t take = std::min(left, length - taken);
      if (taken <= length / 2 && length / 2 < taken + take) middle = order[at];
      pairs += static_cast<double>(take) * static_cast<double>(batches[order[at]].computed_pairs);
      taken += take;
      left -= take;
    }
    const Documents documents = pack_documents(packing, group, middle, batches[middle]);
    add_attention(uses, plan, documents, gpu_fraction * pairs / documents.squared_tokens());
  }
}

}  // namespace

Documents pack_documents(const Packing& packing, std::size_t group, std::size_t pack,
                         const MicroBatch& batch) {
  Documents documents;
  if (packing.strategy->layout == Layout::rows && batch.padded_tokens > 0) {
    add_run(documents, batch.n_items, (batch.tokens + batch.padded_tokens) / batch.n_items);
    return documents;
  }
  if (packing.strategy->layout != Layout::rows && packing.attention == Attention::across_samples) {
    add_run(documents, 1, batch.tokens + batch.padded_tokens);
    return documents;
  }
  for (const ItemIndex item : packing.groups[group][pack])
    add_run(documents, 1, packing.lengths_tokens[item]);
  add_run(documents, 1, batch.padded_tokens);
  return documents;
}

std::vector<KernelUse> schedule_kernels(const Transformer& model, const Cluster& cluster, int zero_stage,
                                        const Packing& packing,
                                        std::span<const std::vector<MicroBatch>> batches,
                                        const Schedule& schedule, const ScheduleSampling& sampling) {
  const PackUseCounts counts = count_pack_uses(batches, schedule);
  KernelUses uses;
  for (std::size_t g = 0; g < batches.size(); ++g) {
    StepPlan plan;
    plan.model = model;
    plan.gc_layers = schedule.groups[g].gc_layers;
    plan.sequence.ulysses = schedule.groups[g].gpus_per_pack;
    plan.dp_degree = schedule.n_gpus / plan.sequence.ulysses;
    plan.zero_stage = zero_stage;
    plan.gpus_per_node = cluster.gpus_per_node;
    check_step_plan(plan);
    // A pack runs on sp of the GPUs; the mean GPU runs it that much.
    const double gpu_fraction = static_cast<double>(plan.sequence.ulysses) / schedule.n_gpus;
    add_tokens(uses, plan, batches[g], counts.of_pack[g], gpu_fraction, sampling.token_steps_per_octave);
    add_sampled_attention(uses, plan, packing, g, batches[g], counts.of_pack[g], gpu_fraction,
                          sampling.attention_packs);
    add_gradient_sums(uses, plan, gpu_fraction * counts.later_micro_batches[g]);
    add_step_end(uses, plan, gpu_fraction * counts.rank_steps[g]);
  }
  add_launch_gaps(uses);
  return uses.all();
}

}  // namespace packsim
