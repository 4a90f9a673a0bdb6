#include "models/parallel_plan.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <utility>

#include "models/state_traffic.hpp"

namespace packsim {
namespace {

using Mistakes = std::vector<PlanMistake>;

constexpr std::string_view kTimes = " x ";

std::string text(std::int64_t n) {
  return std::to_string(n);
}

std::string decimal_text(double x) {
  std::ostringstream shortest;
  shortest << x;
  return shortest.str();
}

bool divides(std::int64_t n, std::int64_t whole) {
  return whole % n == 0;
}

bool divides_or_is_multiple(std::int64_t n, std::int64_t whole) {
  return divides(n, whole) || divides(whole, n);
}

struct Degree {
  std::string_view name;
  std::int64_t value = 1;
};

// Degrees that are in force together, such as tensor parallelism and Ulysses over the heads.
class DegreeProduct {
 public:
  DegreeProduct(std::initializer_list<Degree> degrees) : degrees_(degrees) {}

  std::int64_t value() const {
    std::int64_t value = 1;
    for (const Degree& degree : degrees_) value *= degree.value;
    return value;
  }

  // Degrees of 1 are left out if there are several.
  PlanMistake refusal(const std::string& expected) const {
    PlanMistake mistake{.expected = expected};
    for (const Degree& degree : degrees_) {
      if (degree.value == 1 && degrees_.size() > 1) continue;
      if (!mistake.keys.empty()) mistake.got += kTimes;
      mistake.keys.emplace_back(degree.name);
      mistake.got += text(degree.value);
    }
    if (mistake.keys.size() > 1) mistake.got += " = " + text(value());
    return mistake;
  }

 private:
  std::vector<Degree> degrees_;
};

void expect(Mistakes& mistakes, bool good, const DegreeProduct& product, const std::string& expected) {
  if (!good) mistakes.push_back(product.refusal(expected));
}

void expect_range(Mistakes& mistakes, std::string_view name, std::int64_t value, std::int64_t low,
                  std::int64_t high) {
  expect(mistakes, value >= low && value <= high, {{name, value}}, text(low) + ".." + text(high));
}

// Degrees out of 1..n_gpus are refused and count as 1 from there on, so that the rest can be looked at.
ParallelPlan with_possible_degrees(Mistakes& mistakes, const Cluster& cluster, ParallelPlan plan) {
  const auto fix = [&](std::string_view name, int& value, int most) {
    expect_range(mistakes, name, value, 1, most);
    if (value < 1 || value > most) value = 1;
  };
  expect_range(mistakes, "n_gpus", plan.n_gpus, 1, cluster.n_gpus());
  if (plan.n_gpus < 1 || plan.n_gpus > cluster.n_gpus()) plan.n_gpus = cluster.n_gpus();
  fix("tp_degree", plan.tp_degree, plan.n_gpus);
  fix("sp_degree", plan.sequence.ulysses, plan.n_gpus);
  fix("cp_degree", plan.sequence.ring, plan.n_gpus);
  fix("pp_degree", plan.pp_degree, plan.n_gpus);
  fix("ep_degree", plan.ep_degree, plan.n_gpus);
  return plan;
}

Degree tp(const ParallelPlan& plan) {
  return {"tp_degree", plan.tp_degree};
}
Degree sp(const ParallelPlan& plan) {
  return {"sp_degree", plan.sequence.ulysses};
}
Degree cp(const ParallelPlan& plan) {
  return {"cp_degree", plan.sequence.ring};
}
Degree pp(const ParallelPlan& plan) {
  return {"pp_degree", plan.pp_degree};
}
Degree ep(const ParallelPlan& plan) {
  return {"ep_degree", plan.ep_degree};
}

void check_nodes(Mistakes& mistakes, const Cluster& cluster, const ParallelPlan& plan) {
  const std::vector<DegreeProduct> groups = {
      {tp(plan)}, {tp(plan), sp(plan)}, {tp(plan), sp(plan), cp(plan)}};
  for (const DegreeProduct& group : groups) {
    if (divides_or_is_multiple(group.value(), cluster.gpus_per_node)) continue;
    mistakes.push_back(
        group.refusal("a divisor or a multiple of the " + text(cluster.gpus_per_node) + " GPUs of a node"));
    return;  // larger groups hold this one
  }
}

// Whether a rank's GPUs divide all of them; where they do not, a stage's GPUs mean nothing.
bool check_gpus(Mistakes& mistakes, const Cluster& cluster, const ParallelPlan& plan) {
  const std::string expected = "a divisor of the plan's " + text(plan.n_gpus) + " GPUs";
  // Step by step: the product of four large degrees would leave 64 bits.
  const DegreeProduct rank = {tp(plan), sp(plan), cp(plan), pp(plan)};
  for (const DegreeProduct& part :
       {DegreeProduct{tp(plan), sp(plan)}, DegreeProduct{tp(plan), sp(plan), cp(plan)}, rank}) {
    if (part.value() <= plan.n_gpus) continue;
    mistakes.push_back(part.refusal(expected));
    return false;
  }
  const bool good = divides(rank.value(), plan.n_gpus);
  expect(mistakes, good, rank, expected);
  check_nodes(mistakes, cluster, plan);
  return good;
}

void check_heads(Mistakes& mistakes, const Transformer& model, const ParallelPlan& plan) {
  const DegreeProduct heads = {tp(plan), sp(plan)};
  if (plan.uneven_heads) {
    expect(mistakes, divides(plan.tp_degree, model.n_heads), {tp(plan)},
           "a divisor of the model's " + text(model.n_heads) + " attention heads");
    expect(mistakes, divides_or_is_multiple(plan.tp_degree, model.n_kv_heads), {tp(plan)},
           "a divisor or a multiple of the model's " + text(model.n_kv_heads) + " key-value heads");
    expect(mistakes, heads.value() <= model.n_heads, heads,
           "at most the model's " + text(model.n_heads) + " attention heads");
    return;
  }
  expect(mistakes, divides(heads.value(), model.n_heads), heads,
         "a divisor of the model's " + text(model.n_heads) + " attention heads");
  for (const DegreeProduct& product : {DegreeProduct{tp(plan)}, heads}) {
    if (divides_or_is_multiple(product.value(), model.n_kv_heads)) continue;
    mistakes.push_back(product.refusal("a divisor or a multiple of the model's " + text(model.n_kv_heads) +
                                       " key-value heads"));
    return;
  }
}

void check_widths(Mistakes& mistakes, const Transformer& model, const ParallelPlan& plan) {
  const auto expect_divisor = [&](int width, const std::string& what) {
    expect(mistakes, divides(plan.tp_degree, width), {tp(plan)},
           "a divisor of the " + what + " width " + text(width));
  };
  if (model.n_layers_of(LayerKind::dense) > 0) expect_divisor(model.ffn_size, "MLP's");
  if (model.has_experts()) expect_divisor(model.experts.shared_ffn_size, "shared experts'");
}

void check_chunk_layers(Mistakes& mistakes, const Transformer& model, const std::vector<int>& chunk_layers,
                        const DegreeProduct& stages) {
  if (std::cmp_not_equal(chunk_layers.size(), stages.value())) {
    expect(mistakes, false, {{"chunk_layers", std::ssize(chunk_layers)}},
           text(stages.value()) + (stages.value() == 1 ? " entry" : " entries") +
               " (pp_degree x virtual_stages)");
    return;
  }
  std::int64_t n_layers = 0;
  for (std::size_t i = 0; i < chunk_layers.size(); ++i) {
    n_layers += chunk_layers[i];
    const bool is_edge = i == 0 || i + 1 == chunk_layers.size();
    expect(mistakes, chunk_layers[i] >= (is_edge ? 0 : 1), {{"chunk_layers", chunk_layers[i]}},
           "layers in chunk " + text(static_cast<std::int64_t>(i)));
  }
  expect(mistakes, n_layers == model.n_layers, {{"chunk_layers", n_layers}},
         "the model's " + text(model.n_layers) + " layers in all");
}

void check_stages(Mistakes& mistakes, const Transformer& model, const ParallelPlan& plan) {
  const Degree chunks = {"virtual_stages", plan.virtual_stages};
  if (plan.virtual_stages < 1 || plan.virtual_stages > model.n_layers) {
    expect_range(mistakes, chunks.name, chunks.value, 1, model.n_layers);
    return;
  }
  expect(mistakes, plan.virtual_stages == 1 || plan.pp_degree > 1, {chunks}, "1 without a pipeline");
  expect(mistakes, plan.pipeline_schedule == nullptr || plan.pp_degree > 1, {pp(plan)},
         "over 1 where a pipeline_schedule is named");
  const PipelineSchedule& schedule = plan.schedule();
  expect(mistakes,
         plan.virtual_stages >= schedule.fewest_chunks && plan.virtual_stages <= schedule.most_chunks,
         {chunks},
         schedule.most_chunks == 1 ? "1 with the pipeline schedule " + std::string(schedule.name)
                                   : "at least " + text(schedule.fewest_chunks) +
                                         " with the pipeline schedule " + std::string(schedule.name));
  const DegreeProduct stages = {pp(plan), chunks};
  if (plan.chunk_layers.empty()) {
    expect(mistakes, divides(stages.value(), model.n_layers), stages,
           "a divisor of the model's " + text(model.n_layers) +
               " layers, or chunk_layers with those of each chunk");
  } else {
    check_chunk_layers(mistakes, model, plan.chunk_layers, stages);
  }
}

// The imbalance if every token chose as many experts of one GPU as it can.
double most_imbalance(const Transformer& model, const ParallelPlan& plan) {
  if (!model.has_experts()) return 1;
  const Experts& experts = model.experts;
  const int of_one_gpu = std::min(std::max(1, experts.n_routed / plan.ep_degree), experts.per_token);
  return 1.0 * plan.ep_degree * of_one_gpu / experts.per_token;
}

void check_experts(Mistakes& mistakes, const Transformer& model, const ParallelPlan& plan,
                   bool ranks_are_good) {
  const double most = most_imbalance(model, plan);
  if (!(plan.expert_imbalance >= 1 && plan.expert_imbalance <= most)) {
    mistakes.push_back({{"expert_imbalance"},
                        "1.." + decimal_text(most) + ", where every token chooses experts of one GPU",
                        decimal_text(plan.expert_imbalance)});
  }
  if (!model.has_experts() && plan.expert_dispatch != ExpertDispatch::all_to_all)
    mistakes.push_back({{"expert_dispatch"}, "all_to_all for a model without experts", "deduplicated"});
  if (plan.ep_degree == 1) return;
  if (!model.has_experts()) {
    mistakes.push_back(DegreeProduct{ep(plan)}.refusal("1 for a model without experts"));
    return;
  }
  expect(mistakes, divides(plan.ep_degree, model.experts.n_routed), {ep(plan)},
         "a divisor of the model's " + text(model.experts.n_routed) + " routed experts");
  if (!ranks_are_good) return;
  expect(mistakes, divides(plan.ep_degree, plan.state_gpus()), {ep(plan)},
         "a divisor of the " + text(plan.state_gpus()) + " sequence and data-parallel neighbours in a stage");
}

void check_shards(Mistakes& mistakes, const ParallelPlan& plan) {
  if (plan.shard_degree == 0) return;
  const DegreeProduct shards = {{"shard_degree", plan.shard_degree}};
  const int state_gpus = plan.state_gpus();
  if (plan.shard_degree < 0 || plan.shard_degree > state_gpus || !divides(plan.shard_degree, state_gpus)) {
    expect(mistakes, false, shards,
           "a divisor of the " + text(state_gpus) +
               " GPUs that hold the same weights (n_gpus / (tp_degree x pp_degree)), or 0 for all of them");
    return;
  }
  expect(mistakes, shards_optimizer(plan), shards, "0 under ZeRO 0, which shards nothing");
  expect(mistakes, divides(plan.ep_degree, plan.shard_degree), shards,
         "a multiple of the ep_degree " + text(plan.ep_degree) +
             ", so that each shard group holds whole copies of the experts");
}

// Host memory holds shards, which AdamW on the host reads and writes.
void check_offload(Mistakes& mistakes, const ParallelPlan& plan) {
  const Offload& offload = plan.offload;
  const auto refuse = [&](bool bad, std::string_view state, const std::string& expected) {
    if (bad) mistakes.push_back({{"offload"}, expected, std::string(state)});
  };
  const std::string with_optimizer = "the optimizer too where weights or gradients are offloaded";
  refuse(offload.weights && !offload.optimizer, "weights", with_optimizer);
  refuse(offload.gradients && !offload.optimizer, "gradients", with_optimizer);
  refuse(offload.weights && !shards_weights(plan), "weights", "no weights unless ZeRO 3 shards them");
  refuse(offload.gradients && !shards_gradients(plan), "gradients",
         "no gradients unless ZeRO 2 or 3 shards them");
  refuse(offload.activations && plan.checkpointing != Checkpointing::full, "activations",
         "no activations unless checkpointing is full, because only inputs of such layers are offloaded");
}

void check_optimizer(Mistakes& mistakes, const ParallelPlan& plan) {
  const OptimizerKind& optimizer = *plan.execution.optimizer;
  const std::string name(optimizer.name);
  const bool is_offloadable = optimizer == kAdamW || optimizer == kAdamWBf16 || optimizer == kAdamWFp32;
  if (plan.offload.optimizer && !is_offloadable)
    mistakes.push_back({{"optimizer"}, "AdamW of whole states where the optimizer is offloaded", name});
  if (!plan.optimizer_in_backward) return;
  if (plan.zero_stage > 0 || plan.pp_degree > 1)
    mistakes.push_back({{"optimizer_in_backward"}, "false with ZeRO or a pipeline", "true"});
}

void check_precision(Mistakes& mistakes, const Cluster& cluster, const ParallelPlan& plan) {
  const PrecisionKind& kind = precision_kind(plan.precision);
  if (is_narrow(plan.precision) && !cluster.gpu.peak(kind.peak)) {
    mistakes.push_back({{"precision"},
                        "bf16 on a GPU whose file states no peak of " + std::string(kind.peak),
                        std::string(kind.name)});
  }
  if (plan.fp8_gather && !(kind.peak == "fp8" && shards_weights(plan)))
    mistakes.push_back({{"fp8_gather"}, "false without an fp8 precision and ZeRO 3", "true"});
}

// Every model has an output projection and an MLP or experts.
bool has_target(const Transformer& model, std::string_view name) {
  const bool is_latent = model.has_latent_attention();
  const bool has_query_latent = is_latent && model.latent.q_lora_rank > 0;
  const bool is_fused = model.fused_projections;
  if (name == "qkv_proj" || name == "gate_up_proj") return is_fused;
  if (name == "gate_proj" || name == "up_proj") return !is_fused;
  if (name == "q_proj") return !is_fused && !has_query_latent;
  if (name == "q_a_proj" || name == "q_b_proj") return has_query_latent;
  if (name == "k_proj" || name == "v_proj") return !is_fused && !is_latent;
  if (name == "kv_a_proj_with_mqa" || name == "kv_b_proj") return is_latent;
  return true;
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

std::string targets_of(const Transformer& model) {
  std::vector<std::string_view> names;
  for (const LoraTargetKind& target : kLoraTargets)
    if (has_target(model, target.name)) names.push_back(target.name);
  return listed(names);
}

void check_lora(Mistakes& mistakes, const Transformer& model, const ParallelPlan& plan) {
  const bool is_lora = plan.lora_rank > 0;
  if (!is_lora && !plan.lora_targets.is_all())
    mistakes.push_back(
        {{"lora_target_modules"}, "none without a lora_rank", listed(plan.lora_targets.names())});
  const std::string format(plan.frozen_weights->name);
  if (!is_lora && plan.frozen_weights != &kFrozenBf16)
    mistakes.push_back({{"frozen_weights"}, "bf16 without a lora_rank", format});
  if (plan.frozen_weights->is_packed() && is_narrow(plan.precision))
    mistakes.push_back({{"frozen_weights"}, "bf16 with an fp8 precision", format});
  for (std::size_t i = 0; i < kLoraTargets.size(); ++i) {
    if (!plan.lora_targets.has(i) || has_target(model, kLoraTargets[i].name)) continue;
    mistakes.push_back({{"lora_target_modules"},
                        "modules that the model has (" + targets_of(model) + ")",
                        std::string(kLoraTargets[i].name)});
  }
}

void check_modules(Mistakes& mistakes, const Transformer& model, const ParallelPlan& plan) {
  if (plan.checkpointing != Checkpointing::modules) return;
  const auto has = [&](LayerModule module) { return plan.recomputed_modules.has(module); };
  const auto expect_none = [&](std::string_view name, const std::string& model_lacks) {
    mistakes.push_back({{"checkpointing"},
                        "no " + std::string(name) + " for a model without " + model_lacks,
                        std::string(name)});
  };
  if (plan.recomputed_modules.empty()) mistakes.push_back({{"checkpointing"}, "at least one module", "none"});
  if (has(LayerModule::mla_up_proj) && !model.has_latent_attention())
    expect_none("mla_up_proj", "latent attention");
  if (has(LayerModule::mlp) && model.n_layers_of(LayerKind::dense) == 0) expect_none("mlp", "dense layers");
  for (const LayerModule module : {LayerModule::moe, LayerModule::moe_act}) {
    if (has(module) && !model.has_experts())
      expect_none(kLayerModules[static_cast<std::size_t>(module)].name, "experts");
  }
}

void check_states(Mistakes& mistakes, const ParallelPlan& plan) {
  const DegreeProduct zero = {{"zero_stage", plan.zero_stage}};
  if (!is_zero_stage(plan.zero_stage)) {
    expect_range(mistakes, "zero_stage", plan.zero_stage, 0, kLastZeroStage);
  } else {
    expect(mistakes, !plan.offload.optimizer || shards_optimizer(plan), zero,
           "1..3 where the optimizer is offloaded, so that each GPU updates its own shard");
    check_offload(mistakes, plan);
    check_optimizer(mistakes, plan);
  }
  expect(mistakes, plan.execution.bucket_elements >= 1, {{"bucket_elements", plan.execution.bucket_elements}},
         "at least 1");
}

}  // namespace

std::string PlanMistake::names() const {
  std::string names;
  for (const std::string& key : keys) names.append(names.empty() ? "" : kTimes).append(key);
  return names;
}

std::vector<PlanMistake> plan_mistakes(const Transformer& model, const Cluster& cluster,
                                       const ParallelPlan& asked) {
  Mistakes mistakes;
  const ParallelPlan plan = with_possible_degrees(mistakes, cluster, asked);
  const bool ranks_are_good = check_gpus(mistakes, cluster, plan);
  check_heads(mistakes, model, plan);
  check_widths(mistakes, model, plan);
  check_stages(mistakes, model, plan);
  check_experts(mistakes, model, plan, ranks_are_good);
  check_states(mistakes, plan);
  if (ranks_are_good) check_shards(mistakes, plan);
  check_modules(mistakes, model, plan);
  check_lora(mistakes, model, plan);
  check_precision(mistakes, cluster, plan);
  expect_range(mistakes, "gc_layers", plan.gc_layers, 0, model.n_layers);
  constexpr std::int64_t kMostTiles = 65'536;
  expect_range(mistakes, "mlp_tiles", plan.mlp_tiles, 1, kMostTiles);
  expect_range(mistakes, "loss_tiles", plan.loss_tiles, 1, kMostTiles);
  if (plan.mlp_tiles > 1 && model.n_layers_of(LayerKind::dense) == 0)
    mistakes.push_back({{"mlp_tiles"}, "1 for a model whose layers all have experts", text(plan.mlp_tiles)});
  if (plan.mlp_tiles > 1 && plan.checkpointing == Checkpointing::operations)
    mistakes.push_back({{"mlp_tiles"}, "1 with checkpointing by operation", text(plan.mlp_tiles)});
  expect_range(mistakes, "lora_rank", plan.lora_rank, 0, model.hidden_size);
  if (plan.uneven_heads && plan.latent_exchange)
    mistakes.push_back({{"uneven_heads"}, "false where latents are sent instead of heads", "true"});
  if (plan.latent_exchange && !model.has_latent_attention())
    mistakes.push_back({{"latent_exchange"}, "false for a model without latent attention", "true"});
  return mistakes;
}

}  // namespace packsim
