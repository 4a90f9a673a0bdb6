#pragma once

#include "models/cause.hpp"

namespace packsim {

/// What end-to-end steps of a training framework take beyond the kernels of a hardware profile. The defaults
/// are those of a framework that adds nothing.
struct FrameworkFactors {
  double linear_factor = 1;            ///< on matrix products, elementwise kernels and the optimizer
  double attention_factor = 1;         ///< on attention kernels
  double exchange_in_node_factor = 1;  ///< on sequence exchanges inside a node
  double exchange_between_factor = 1;  ///< on sequence exchanges between nodes
  double micro_batch_s = 0;            ///< added to every micro-batch
  double step_s = 0;                   ///< added to every step

  double reserved_bytes = 0;                ///< context, communication buffers, fragmentation
  double logits_bytes_per_vocab_entry = 0;  ///< work space of the loss, for one token and vocabulary entry

  /// Exchange that costs nothing, in a what-if. No framework has any.
  CauseSet free_exchange = {};
};

}  // namespace packsim
