#pragma once

#include <cstdint>
#include <string_view>

#include "calibration/microbench/distributed/splits.hpp"

namespace packsim::microbench {

enum class CollectiveOp { all_to_all, all_gather, reduce_scatter, all_reduce, send_recv };

CollectiveOp collective_op(std::string_view name);

/// The sizes of a collective of bf16 values, out of place. `bytes` as nccl-tests count: all-gather the
/// gathered buffer, the others the buffer that a GPU sends from. send_recv is a ring: each GPU sends to the
/// next of the group and receives from the one before, both at once.
struct CollectiveShape {
  CollectiveOp op = CollectiveOp::all_reduce;
  int n_gpus = 1;
  std::int64_t elements = 0;       ///< of `bytes`
  std::int64_t part_elements = 0;  ///< a GPU's part, where the op has equal parts
  Splits splits = {};              ///< of all_to_all

  std::int64_t send_elements() const;
  std::int64_t receive_elements(int rank) const;
};

/// Throws Unavailable for bytes that are no whole number of values a GPU, for over 2^40 bytes, and for an
/// imbalance that the op cannot have.
CollectiveShape collective_shape(std::string_view op, int n_gpus, std::int64_t bytes, double imbalance);

/// Calls that are timed together: a short one lies near the resolution of a CUDA event (0.5 us).
int calls_per_sample(std::int64_t bytes);

/// Known values for checking a collective, and what they must give. Small integers, which bf16 and sums of
/// up to 256 ranks hold exactly.
float sent_value(const CollectiveShape& shape, int rank, std::int64_t index);
float received_value(const CollectiveShape& shape, int rank, std::int64_t index);

}  // namespace packsim::microbench
