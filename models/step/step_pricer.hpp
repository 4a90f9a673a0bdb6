#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "models/framework_factors.hpp"
#include "models/memory/weights.hpp"
#include "models/parallel_plan.hpp"
#include "models/step/attention_pricer.hpp"
#include "models/step/price_store.hpp"
#include "models/step/step_price.hpp"

namespace packsim {

/// Prices the micro-batches and states of one plan: the kernels of layer_forward() and their gradients at the
/// times of a hardware profile, times the framework's factors.
///
/// Token counts are priced on a grid of 64 points per octave and interpolated linearly in between. Powers of
/// two are exact, others within 0.1 %, or 0.3 % where the profile's estimate itself jumps: it takes other
/// shapes' curves for the products that sum over tokens. The mean error is under 0.01 %.
class StepPricer {
 public:
  /// The model, the cluster and the profile are kept by reference. The plan must have no plan_mistakes().
  /// store: what is priced of this job, which pricers of one thread share so that each kernel and each number
  /// of tokens is priced once; null: a new one.
  StepPricer(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
             const HardwareProfile& profile, const FrameworkFactors& factors,
             std::shared_ptr<PriceStore> store = nullptr);

  /// Attention of one layer on one GPU, for a micro-batch; where some layers have a window, of the mean
  /// layer.
  struct LayerAttention {
    TimeEstimate all = {};
    double windowed_s = 0;  ///< the part of layers with a window
  };
  struct PackAttention {
    LayerAttention forward;
    LayerAttention backward;
    bool is_varlen = false;  ///< whether it is over several documents
  };

  /// tokens: of the whole micro-batch, padding included. lengths_tokens: of its documents, each above 0;
  /// padding at the end counts as one more document.
  MicroBatchPrice micro_batch(std::int64_t tokens, std::span<const std::int32_t> lengths_tokens) {
    return with_attention(tokens, attention(lengths_tokens));
  }
  /// The same in two parts. Pricers with equal attention_basis() give the same attention().
  PackAttention attention(std::span<const std::int32_t> lengths_tokens);
  MicroBatchPrice with_attention(std::int64_t tokens, const PackAttention& attention);
  /// Computation and exchange of tokens alone: no attention but for the copies of a ring, no host, and
  /// nothing that is sent beside them.
  MicroBatchPrice without_attention(std::int64_t tokens_per_gpu);
  /// All that attention() depends on, beside the documents.
  struct AttentionBasis {
    AttentionShape shape;
    double factor = 1;
    double windowed_layers = 0;
    AttentionWindow window;
    KeyExchange key_exchange = KeyExchange::ring;
    double flop_per_s = 0;  // for profiles without attention
    std::vector<KernelCurve> curves;
    std::vector<KernelModel> models;
    bool operator==(const AttentionBasis&) const = default;
  };
  AttentionBasis attention_basis() const;
  const TokenPrices& tokens(std::int64_t tokens_per_gpu);
  /// The evidence for the prices of an exactly priced number of tokens.
  const TokenAccounts& account(std::int64_t tokens_per_gpu);
  /// Deletes all interpolated TokenPrices, which are cheap to compute again. References to them become
  /// invalid.
  void forget_interpolated() { tokens_.clear(); }
  /// The largest token count up to this one that is priced exactly. tokens_per_gpu: above 0.
  static std::int64_t exact_tokens_up_to(std::int64_t tokens_per_gpu);
  MicroBatchCurves micro_batch_curves() const;
  /// Attention time of one layer on one GPU of the rank, without transfers of a ring.
  /// AttentionPricer::parts() says how the times of a pack's documents are added up.
  struct AttentionCost {
    double forward_s = 0;
    double backward_s = 0;
  };
  AttentionCost document_cost(std::int32_t length_tokens);
  AttentionCost attention_launch() const;
  AttentionCost longest_cost_per_token() const;
  /// Makes the accounts of all prices that are made from now on count their kernels, for coverage.
  void keep_kernels() { keeps_kernels_ = true; }
  bool keeps_kernels() const { return keeps_kernels_; }
  /// How many parts of every document the slowest GPU of the ring computes (AttentionPricer), or the share of
  /// a document that it computes if it has all keys and values.
  double attention_parts() const;
  /// The share of a rank's attention without a window that the slowest GPU of the ring computes for its
  /// heads.
  double attention_share() const;
  /// The window of layers that have one.
  AttentionWindow window() const;
  // Transfers of a micro-batch with so many tokens on each GPU: of one block of a ring, between two pipeline
  // stages, and of the input of a checkpointed layer to the host.
  const PricedKernel& ring_send(std::int64_t tokens_per_gpu, bool is_backward) const;
  /// The copies of a hop of a ring (HopCopies).
  KernelPricer::Use hop_copies(std::int64_t tokens_per_gpu, bool is_backward) const;
  const PricedKernel& stage_send(std::int64_t tokens_per_gpu, int nodes) const;
  const PricedKernel& host_copy(std::int64_t tokens_per_gpu) const;
  /// Transfers of a ring in one layer, for a pack of so many tokens; 0 without a ring.
  AttentionCost ring_transfers(std::int64_t tokens);
  /// [pp_degree]: whether every GPU of a pipeline stage is in the same node as its counterpart in the next
  /// stage. The last entry is for the last stage and the first.
  std::vector<bool> sends_in_node() const;
  /// index: 0..n_chunks() - 1, in the order in which a micro-batch goes through them.
  ChunkShape chunk(int index) const;
  /// Price of the weights, gradients and optimizer of a chunk. Without pipeline parallelism there is one
  /// chunk.
  const StatesPrice& states(int chunk = 0);

  const Transformer& model() const { return model_; }
  const Cluster& cluster() const { return cluster_; }
  const ParallelPlan& plan() const { return plan_; }
  /// Sets the number of checkpointed layers of the whole model. It changes what chunk() returns, but no
  /// prices.
  void set_gc_layers(int gc_layers) { plan_.gc_layers = gc_layers; }
  const FrameworkFactors& factors() const { return factors_; }

 private:
  // accounts: null where nobody asks for the evidence, which takes as long as the prices.
  TokenPrices price_tokens(std::int64_t tokens_per_gpu, TokenAccounts* accounts = nullptr);
  PricedPhase price_phase(const std::vector<LayerOp>& ops, bool is_backward, bool overlaps,
                          PriceAccount* account);
  void add_op(PricedPhase& phase, const LayerOp& op, bool is_backward, double part, PriceAccount* account);
  double exposed_part(const std::vector<LayerOp>& ops, std::size_t at, bool is_backward);
  double time_s(const std::vector<CountedKernel>& kernels, double factor);
  double document_s(AttentionPricer& pricer, std::int32_t length_tokens);
  double attention_calls() const;
  LayerAttention attention(AttentionPricer& pricer, std::span<const std::int32_t> lengths_tokens);
  RingPrice ring_alone(std::int64_t tokens_per_gpu, bool is_backward);
  void add_attention(RingPrice& ring, const LayerAttention& computed, std::int64_t tokens_per_gpu,
                     bool is_backward);
  void book(PriceAccount& account, Cause cause, const PricedKernel& kernel, const TimeEstimate& known,
            double count = 1) const;
  int ring_nodes() const;
  std::int64_t ring_bytes(std::int64_t tokens_per_gpu, bool is_backward) const;
  int ring_steps() const;
  StatesPrice price_states(int chunk);
  // GPUs among which states travel, and the nodes that they are in.
  struct StateGroup {
    int gpus = 1;
    int nodes = 1;
  };
  std::int64_t travel_time_ns(std::string_view op, double elements, double element_bytes, StateGroup group,
                              PriceAccount& account);
  std::int64_t host_copy_ns(std::string_view kind, double bytes, PriceAccount& account);
  std::int64_t host_sum_ns(double elements, PriceAccount& account);
  // The time in which all GPUs of a node, each with so many bytes, move them through the host's memory.
  TimeEstimate host_memory_time(double bytes_per_gpu) const;
  HostCosts host_costs() const;
  void price_host_copies(MicroBatchPrice& price, std::int64_t tokens_per_gpu);
  std::int64_t gradient_sum_ns(StatesPrice& states, const GpuWeights& summed);
  double trained_tensors_of(const StateUnit& unit, const ChunkShape& chunk) const;
  double orthogonalisation_flop(const ChunkShape& chunk) const;
  void price_optimizer(StatesPrice& states, const GpuWeights& trained, int chunk_index);
  double cast_weights(int chunk_index) const;
  double factor_of(const LayerOp& op) const;

  const Transformer& model_;
  const Cluster& cluster_;
  const HardwareProfile& profile_;
  ParallelPlan plan_;
  FrameworkFactors factors_;
  std::shared_ptr<PriceStore> store_;
  KernelPricer* kernels_;                // of the store
  AttentionPricer& attention_forward_;   // of the store
  AttentionPricer& attention_backward_;  // of the store
  std::shared_ptr<TokenGrid> grid_;
  std::map<std::int64_t, TokenPrices> tokens_;  // interpolated ones
  std::map<std::int64_t, TokenAccounts> accounts_;
  std::map<int, StatesPrice> states_;  // by chunk
  bool keeps_kernels_ = false;
};

}  // namespace packsim
