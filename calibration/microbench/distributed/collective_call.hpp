#pragma once

#include <vector>

#include "calibration/microbench/distributed/collective_shape.hpp"
#include "calibration/microbench/distributed/nccl_world.hpp"

namespace packsim::microbench {

/// A collective with its buffers on every GPU of this process, ready to be queued over and over.
class CollectiveCall {
 public:
  /// Checks the memory, fills the buffers with random values and runs it once. Throws Unavailable, on all
  /// processes, where the memory or an extra `spare_bytes` on each GPU is not to be had.
  CollectiveCall(NcclWorld& world, NcclGroup& group, CollectiveShape shape, std::int64_t spare_bytes = 0);

  const CollectiveShape& shape() const { return shape_; }
  NcclGroup& group() const { return *group_; }
  /// One call on each GPU's stream.
  void queue() const;
  /// bf16 values of a GPU of this process, by its position among group().members().
  void write_sent(std::size_t member, const std::vector<std::uint16_t>& values) const;
  std::vector<std::uint16_t> read_received(std::size_t member) const;

 private:
  void queue_on(const GroupMember& member) const;

  NcclGroup* group_;
  CollectiveShape shape_;
  std::vector<Buffer> sent_;
  std::vector<Buffer> received_;
};

/// Waits on each GPU of the group, then a barrier: what is queued meanwhile starts everywhere together.
void queue_start(const NcclGroup& group, double delay_s);
/// Doubles the delay for the next attempt at a sample whose calls came too late. False where it is absurd by
/// now: under CUDA_LAUNCH_BLOCKING or a debugger nothing is ever queued ahead of the GPU.
bool lengthen(double& delay_s);
inline constexpr const char* kNeverQueued =
    "the calls of a sample cannot be queued ahead of the GPU (is CUDA_LAUNCH_BLOCKING set, or a debugger "
    "on?)";

}  // namespace packsim::microbench
