#include "experiment/costs/utilisation.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "models/layers/recomputed_parts.hpp"

namespace packsim {
namespace {

// What a group's packs train over all epochs, with and without padding.
struct Work {
  double tokens = 0;
  double samples = 0;
  double computed_tokens = 0;
  double attention_flop = 0;  // forward, all layers
  double computed_attention_flop = 0;
};

// Documents of a model with windows count with the share of their square that the windows leave.
double attention_flop(const Transformer& model, const Packing& packing, std::size_t group, std::size_t pack,
                      const MicroBatch& batch) {
  if (model.n_windowed_layers == 0)
    return static_cast<double>(batch.attention_pairs) * model.attention_flop_per_pair();
  if (packing.attention == Attention::across_samples) return model.attention_flop(batch.tokens);
  double flop = 0;
  for (const ItemIndex item : packing.groups[group][pack])
    flop += model.attention_flop(packing.lengths_tokens[item]);
  return flop;
}

// Number of samples of a pack; one that is cut counts only where it begins.
std::int64_t samples_of(const Packing& packing, std::size_t group, std::size_t pack,
                        const MicroBatch& batch) {
  if (packing.pieces.empty()) return batch.n_items;
  return std::ranges::count_if(packing.groups[group][pack],
                               [&](ItemIndex item) { return packing.pieces[item].start_token == 0; });
}

Work work_of(const Transformer& model, const PlannedStrategy& plan, std::size_t group) {
  Work work;
  for (std::size_t pack = 0; pack < plan.batches[group].size(); ++pack) {
    const MicroBatch& batch = plan.batches[group][pack];
    const double times = plan.uses.of_pack[group][pack];
    work.samples += times * static_cast<double>(samples_of(plan.packing, group, pack, batch));
    if (times == 0 || batch.attention_pairs == 0) continue;
    const double flop = times * attention_flop(model, plan.packing, group, pack, batch);
    work.tokens += times * static_cast<double>(batch.tokens);
    work.computed_tokens += times * static_cast<double>(batch.tokens + batch.padded_tokens);
    work.attention_flop += flop;
    work.computed_attention_flop +=
        flop * static_cast<double>(batch.computed_pairs) / static_cast<double>(batch.attention_pairs);
  }
  return work;
}

}  // namespace

Utilisation utilisation(const Scenario& scenario, const PlannedStrategy& plan, double wall_s) {
  const Transformer& model = scenario.model;
  double tokens = 0;
  double samples = 0;
  double model_flop = 0;
  double hardware_flop = 0;
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const Work work = work_of(model, plan, group);
    const ParallelPlan& parallel = plan.plans[group];
    const double recomputed_part = static_cast<double>(plan.groups[group].gc_layers) / model.n_layers;
    const double recomputed_flop =
        recomputed_part *
        (recomputed_product_share(model, parallel) * work.computed_tokens * model.layers_flop_per_token() +
         (parallel.recomputes_attention() ? work.computed_attention_flop : 0));
    const double tiled_flop = work.computed_tokens * tiled_flop_per_token(model, parallel);
    tokens += work.tokens;
    samples += work.samples;
    model_flop += model.training_flop(work.tokens, work.attention_flop);
    hardware_flop += model.training_flop(work.computed_tokens, work.computed_attention_flop) +
                     recomputed_flop + tiled_flop;
  }
  const double gpu_s = wall_s * scenario.cluster.n_gpus();
  Utilisation result{.tokens_per_s_per_gpu = tokens / gpu_s,
                     .samples_per_s = samples / wall_s,
                     .model_flop_per_s_per_gpu = model_flop / gpu_s};
  if (const std::optional<double> peak_flop_per_s = scenario.cluster.gpu.peak("bf16")) {
    result.mfu_fraction = model_flop / gpu_s / *peak_flop_per_s;
    result.hfu_fraction = hardware_flop / gpu_s / *peak_flop_per_s;
  }
  return result;
}

}  // namespace packsim
