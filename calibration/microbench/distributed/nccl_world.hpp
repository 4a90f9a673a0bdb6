#pragma once

#include <list>
#include <memory>

#include "calibration/microbench/distributed/nccl_group.hpp"

namespace packsim::microbench {

/// The GPUs of all processes and the groups that have been made of them.
class NcclWorld {
 public:
  /// All processes make it together.
  explicit NcclWorld(Device& device);
  ~NcclWorld();

  ControlChannel& channel() { return *channel_; }
  const Topology& topology() const { return topology_; }
  /// Made at the first use; the last few are kept. Throws Unavailable where the GPUs do not do.
  NcclGroup& group(std::int64_t n_gpus, std::int64_t n_nodes);
  /// Throws Unavailable on all processes when one GPU of the group has less memory free.
  void need_memory(const NcclGroup& group, std::int64_t size_bytes);
  /// Runs what may throw Unavailable on one process alone; then all throw it.
  void agree(const std::function<void()>& work);

 private:
  struct Kept {
    std::int64_t n_gpus = 0;
    std::int64_t n_nodes = 0;
    std::unique_ptr<NcclGroup> group;
  };
  std::unique_ptr<ControlChannel> alone_;  // where the run is one process without a channel
  ControlChannel* channel_;
  Topology topology_;
  std::list<Kept> kept_;  // the last used first
};

/// The world of this run: made at the first call, by all processes, and gone with close_collectives().
NcclWorld& nccl_world(Device& device);

}  // namespace packsim::microbench
