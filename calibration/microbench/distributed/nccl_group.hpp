#pragma once

#include <nccl.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibration/microbench/distributed/cuda_handles.hpp"
#include "calibration/microbench/distributed/processes/processes.hpp"
#include "calibration/microbench/distributed/topology.hpp"

namespace packsim::microbench {

/// Throws std::runtime_error with the call and NCCL's words.
void check_nccl(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr);
/// "2.32.3", of the library that is loaded.
std::string nccl_version();

/// A GPU of this process in a group.
struct GroupMember {
  int rank = 0;
  int device = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
};

/// GPUs that run collectives together: a communicator and a stream on each. All processes of the run make
/// it, and call it, in the same order, also those that drive none of its GPUs.
///
/// Nothing waits for a GPU without looking after the other processes: when one is gone the communicators are
/// aborted, which ends the kernels that wait for it, and std::runtime_error is thrown. Where even that does
/// not help the program ends at once with exit code 3.
class NcclGroup {
 public:
  NcclGroup(ControlChannel& channel, const std::vector<GpuPlace>& places);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  int n_gpus() const { return n_gpus_; }
  ControlChannel& channel() const { return *channel_; }
  std::span<const GroupMember> members() const;

  /// Queues the same on each GPU of this process, as one NCCL group: NCCL calls of one thread on several
  /// GPUs would wait for each other without.
  void queue(const std::function<void(const GroupMember&)>& calls) const;
  /// Queues a collective that no GPU leaves before all have come.
  void queue_barrier() const;
  /// Waits until the events have happened. Inside attempt().
  void wait(const std::vector<const Event*>& events);
  /// Calls what queues and waits. When it throws the others are told, and the queued kernels ended: the
  /// buffers that they use could not be freed before.
  double attempt(const std::function<double()>& sample);
  /// attempt() of calls that queue, and of waiting for all that is on the GPUs' streams then.
  void finish(const std::function<void()>& calls = [] {});
  /// Runs what may wait for other processes on the CPU, as the first call of a collective does: NCCL connects
  /// the GPUs then.
  void guarded(const char* what, const std::function<void()>& work);

 private:
  struct State;  // outlives the group where a thread is stuck in NCCL
  [[noreturn]] void fail(const std::string& reason);
  void watch();
  void abort(const std::string& reason);

  ControlChannel* channel_;
  int n_gpus_;
  bool is_connected_ = false;
  std::shared_ptr<State> state_;
  std::vector<Stream> streams_;
  std::vector<Buffer> barriers_;
};

}  // namespace packsim::microbench
