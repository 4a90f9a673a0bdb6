#include "models/step_cost_model.hpp"

#include <algorithm>

namespace packsim {
namespace {

constexpr double kBytesPerElement = 2.0;  // bf16
constexpr double kAttentionBackwardPerForward = 2.5;

}  // namespace

AlltoallBytes ulysses_bytes_per_token(const Transformer& model, const Cluster& cluster, int sp_degree) {
  if (sp_degree <= 1) return {};
  const double kv_copies = std::max(1.0, static_cast<double>(sp_degree) / model.n_kv_heads);
  const double bytes =
      kBytesPerElement * model.n_layers * (2 * model.query_width() + 2 * model.kv_width() * kv_copies);
  // A group is placed on neighbouring GPUs, so it fills nodes.
  const double in_node = std::min(sp_degree, cluster.gpus_per_node);
  return {.intra_node = bytes * (in_node - 1) / sp_degree,
          .inter_node = bytes * (sp_degree - in_node) / sp_degree};
}

std::string refuse_sp_degree(const Transformer& model, const Cluster& cluster, int sp_degree) {
  const auto text = [](int n) { return std::to_string(n); };
  if (cluster.n_gpus() % sp_degree != 0)
    return "a divisor of the cluster's " + text(cluster.n_gpus()) + " GPUs";
  if (model.n_heads % sp_degree != 0)
    return "a divisor of the model's " + text(model.n_heads) + " attention heads";
  if (model.n_kv_heads % sp_degree != 0 && sp_degree % model.n_kv_heads != 0) {
    return "a divisor or a multiple of the model's " + text(model.n_kv_heads) + " key-value heads";
  }
  if (sp_degree > cluster.gpus_per_node ? sp_degree % cluster.gpus_per_node != 0
                                        : cluster.gpus_per_node % sp_degree != 0) {
    return "a divisor or a multiple of the " + text(cluster.gpus_per_node) + " GPUs of a node";
  }
  return {};
}

StepCostModel::StepCostModel(const Transformer& model, const Cluster& cluster,
                             const FrameworkProfile& profile)
    : model_(model), cluster_(cluster), profile_(profile) {}

MicroBatchTime StepCostModel::micro_batch(const MicroBatch& batch, const GroupPlan& plan) const {
  const double sp = plan.sp_degree;
  const double tokens = static_cast<double>(batch.tokens + batch.padded_tokens) / sp;
  const double pairs = static_cast<double>(batch.computed_pairs) / sp;
  const double recomputed = static_cast<double>(plan.gc_layers) / model_.n_layers;

  const double layers_s = tokens * model_.layers_flop_per_token() / profile_.linear_flop_per_s;
  const double head_s = tokens * model_.head_flop_per_token() / profile_.linear_flop_per_s;
  const double attention_s = pairs * model_.attention_flop_per_pair() / profile_.attention_flop_per_s;
  const AlltoallBytes bytes = ulysses_bytes_per_token(model_, cluster_, plan.sp_degree);
  const double exchange_s = tokens * (bytes.intra_node / profile_.intra_node_bytes_per_s +
                                      bytes.inter_node / profile_.inter_node_bytes_per_s);
  return {.linear_s = 3 * (layers_s + head_s),
          .attention_s = (1 + kAttentionBackwardPerForward) * attention_s,
          .recompute_s = recomputed * (layers_s + attention_s),
          .alltoall_s = (2 + recomputed) * exchange_s,
          .overhead_s = profile_.micro_batch_s};
}

}  // namespace packsim
