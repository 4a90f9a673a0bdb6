#pragma once

#include "models/cluster.hpp"
#include "models/cost_model.hpp"
#include "models/framework_profile.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// The step-level model: six numbers of a framework profile price the flop and bytes of a micro-batch.
///
/// With T tokens a GPU (padding included), gc of L layers checkpointed and squared lengths sum p over the SP
/// GPUs:
///   linear    T (3 layers_flop + 3 head_flop) / linear_flop_per_s, recompute T layers_flop gc/L
///   attention p / sp attention_flop (3.5 + gc/L) / attention_flop_per_s
///   all-to-all  bytes (2 + gc/L), the part of it inside the node and outside it each at its rate
/// Backward attention runs 2.5 times the forward's flop, as it computes the scores again (FlashAttention-2,
/// arXiv 2307.08691, section 4.1).
class StepCostModel : public CostModel {
 public:
  StepCostModel(const Transformer& model, const Cluster& cluster, const FrameworkProfile& profile);

  MicroBatchTime micro_batch(const MicroBatch& batch, const GroupPlan& plan) const override;
  double iteration_s() const override { return profile_.iteration_s; }

 private:
  Transformer model_;
  Cluster cluster_;
  FrameworkProfile profile_;
};

/// Bytes that one GPU of a Ulysses group of `sp_degree` sends in the all-to-alls of one forward pass over all
/// layers, for one token that it holds (bf16). Queries and outputs once, keys and values once, copied first
/// where there are fewer key-value heads than GPUs; a GPU keeps 1/sp_degree of it.
struct AlltoallBytes {
  double intra_node = 0;
  double inter_node = 0;
};
AlltoallBytes ulysses_bytes_per_token(const Transformer& model, const Cluster& cluster, int sp_degree);

/// Why a Ulysses degree cannot exist for this model and cluster, or an empty string: it has to divide the
/// GPUs and the query heads, and divide the key-value heads or be a multiple of them.
std::string refuse_sp_degree(const Transformer& model, const Cluster& cluster, int sp_degree);

}  // namespace packsim
