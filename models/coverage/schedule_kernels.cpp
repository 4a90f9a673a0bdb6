#include "models/coverage/schedule_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>

#include "models/kernels/make_case.hpp"
#include "models/layers/layer_ops.hpp"
#include "models/step/plan_account.hpp"

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

// All but attention.
void add_tokens(PlanAccount& account, StepPricer& pricer, std::span<const MicroBatch> batches,
                std::span<const std::uint32_t> trainings, int steps_per_octave) {
  const int gpus = pricer.plan().sequence_gpus();
  std::map<std::int64_t, TokenBin> bins;
  for (std::size_t p = 0; p < batches.size(); ++p) {
    const std::int64_t padded = batches[p].tokens + batches[p].padded_tokens;
    const std::int64_t tokens = (padded + gpus - 1) / gpus;
    if (trainings[p] == 0 || tokens == 0) continue;
    const double position = std::log2(static_cast<double>(tokens)) * steps_per_octave;
    TokenBin& bin = bins[std::llround(position)];
    bin.n += static_cast<double>(trainings[p]);
    bin.tokens += static_cast<double>(trainings[p]) * static_cast<double>(tokens);
  }
  for (const auto& [position, bin] : bins) {
    const std::int64_t tokens = StepPricer::exact_tokens_up_to(std::llround(bin.tokens / bin.n));
    account.add_micro_batches(pricer.micro_batch(tokens * gpus, {}),
                              bin.tokens / static_cast<double>(tokens));
  }
}

// A GPU of a ring computes documents part by part, but for layers that gather keys and values.
Documents parts_of(const StepPricer& pricer, const Documents& documents) {
  const std::int64_t ring = pricer.plan().sequence.ring;
  if (ring == 1 || gathering_layers(pricer.model(), pricer.plan()) > 0) return documents;
  Documents parts;
  for (const DocumentRun& run : documents.runs)
    add_run(parts, run.n_documents, (run.length_tokens + ring - 1) / ring);
  return parts;
}

// How often a GPU of a rank computes, in the mean layer, attention over such documents, or over their parts.
double times_computed(const StepPricer& pricer, const Documents& documents) {
  const Transformer& model = pricer.model();
  if (!model.has_windows()) return pricer.attention_parts();
  double seen = 0;
  for (const DocumentRun& run : documents.runs) {
    const auto length = static_cast<double>(run.length_tokens);
    const double windowed =
        model.windowed_layers() * (1 - windowed_share(run.length_tokens, pricer.window()));
    seen += static_cast<double>(run.n_documents) * length * length * (1 - windowed);
  }
  return pricer.attention_share() * seen / documents.squared_tokens();
}

// count: of the pack's micro-batches.
void add_documents(KernelUses& uses, const StepPricer& pricer, const Documents& documents, double count) {
  int n_layers = 0;
  int n_recomputed = 0;
  for (int index = 0; index < pricer.plan().n_chunks(); ++index) {
    const ChunkShape chunk = pricer.chunk(index);
    n_layers += chunk.n_layers();
    n_recomputed += chunk.n_attention_recomputed();
  }
  const AttentionShape shape = attention_shape(pricer.model(), pricer.plan());
  const KernelCase forward =
      attention_case("fwd", parts_of(pricer, documents), shape.heads, shape.kv_heads, shape.head_dim);
  const double of_layer = count * pricer.plan().sequence_gpus() * times_computed(pricer, documents);
  uses.add(forward, of_layer * n_layers, cause_name(Cause::attention));
  uses.add(forward.with("pass", "bwd"), of_layer * n_layers, cause_name(Cause::attention));
  uses.add(forward, of_layer * n_recomputed, cause_name(Cause::recompute));
}

void add_sampled_attention(KernelUses& uses, const StepPricer& pricer, const Packing& packing,
                           std::size_t group, std::span<const MicroBatch> batches,
                           std::span<const std::uint32_t> trainings, int n_samples) {
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
    add_documents(uses, pricer, documents, pairs / documents.squared_tokens() / pricer.plan().n_gpus);
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

std::vector<KernelUse> schedule_kernels(std::span<StepPricer* const> pricers, const Packing& packing,
                                        std::span<const std::vector<MicroBatch>> batches,
                                        const PackUseCounts& counts, const ScheduleSampling& sampling) {
  KernelUses uses;
  for (std::size_t g = 0; g < batches.size(); ++g) {
    StepPricer& pricer = *pricers[g];
    const std::vector<std::uint32_t>& trainings = counts.of_pack[g];
    PlanAccount account(pricer);
    add_tokens(account, pricer, batches[g], trainings, sampling.token_steps_per_octave);
    account.add_steps(counts.rank_steps[g], std::accumulate(trainings.begin(), trainings.end(), 0.0),
                      counts.later_micro_batches[g]);
    const PriceAccount total = account.total();
    for (int cause = 0; cause < kNCauses; ++cause) {
      for (const auto& [text, runs] : total.kernels(static_cast<Cause>(cause)))
        uses.add(runs.kernel, runs.count / pricer.plan().n_gpus, cause_name(static_cast<Cause>(cause)));
    }
    add_sampled_attention(uses, pricer, packing, g, batches[g], trainings, sampling.attention_packs);
  }
  uses.add_launch_gaps();
  return uses.all();
}

}  // namespace packsim
