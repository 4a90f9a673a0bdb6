#pragma once

#include <cstdint>
#include <string>

namespace packsim {

/// What end-to-end steps of one training framework on one kind of GPU show: achieved rates and fixed costs.
/// Every number is per GPU. Profiles are JSON files in calibration/profiles, each with its provenance.
struct FrameworkProfile {
  std::string name;
  std::string gpu;     ///< the GPU it was measured on
  std::string source;  ///< what it was fitted to
  std::string model;   ///< the model of those steps; others are extrapolated to
  int n_gpus = 0;      ///< of those steps
  int zero_stage = 1;  ///< of those steps; what other stages send more or less is not priced

  double linear_flop_per_s = 0;       ///< matrix products, with everything that scales with tokens
  double attention_flop_per_s = 0;    ///< attention kernels, causal flop
  double intra_node_bytes_per_s = 0;  ///< all-to-all payload that stays in the node
  double inter_node_bytes_per_s = 0;  ///< all-to-all payload that leaves it
  double micro_batch_s = 0;           ///< fixed cost of a micro-batch
  double iteration_s = 0;             ///< fixed cost of an iteration: optimizer, gradient exchange

  double reserved_bytes = 0;                ///< context, communication buffers, fragmentation
  double logits_bytes_per_vocab_entry = 0;  ///< work space of the loss, for one token and vocabulary entry
};

}  // namespace packsim
