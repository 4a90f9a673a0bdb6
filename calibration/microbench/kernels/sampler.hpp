#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "calibration/microbench/kernels/device.hpp"

namespace packsim::microbench {

/// Words of the host's memory that the GPU sees: the stream waits until `opened` shows its ticket, and writes
/// the ticket to `gave_up` where that took too long.
struct Gate {
  unsigned opened = 0;
  unsigned gave_up = 0;
};

/// Times calls on the device's stream with CUDA events.
///
/// A sample is a batch of calls that run back to back, divided by their number: as many as take half a
/// millisecond, where the events' resolution is a thousandth. A kernel that waits for the host holds the
/// stream while the batch is being queued, so that the time to launch is hidden, and what is left between two
/// calls is the gap that the GPU itself needs, as in a training step. A batch that the host queues so slowly
/// that the waiting kernel gave up is halved and timed again.
class Sampler {
 public:
  /// launch(call): queues one call on device.stream(). call counts up from 0, to rotate operands.
  Sampler(Device& device, std::function<void(std::int64_t call)> launch);

  /// Seconds of one call. Throws Unavailable where the host is too slow to queue even one.
  double time_once_s();
  int n_calls() const { return n_calls_; }

 private:
  /// Goes when the GPU is done with it.
  struct FreeGate {
    void operator()(Gate* gate) const;
  };
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

  static Event make_event();
  double time_batch_s(int n_calls);
  double time_held_batch_s(int n_calls);
  int calls_of_a_sample();

  cudaStream_t stream_;
  std::function<void(std::int64_t)> launch_;
  std::int64_t call_ = 0;
  int n_calls_ = 1;
  unsigned ticket_ = 0;
  std::unique_ptr<Gate, FreeGate> gate_;
  Event start_;
  Event stop_;
};

/// Operands of a case, several copies of them where the case is to find the cache cold: enough that one
/// copy's data has left the L2 cache, by at least twice its size, when its turn comes again.
class Operands {
 public:
  /// sizes_bytes: of each operand. Throws Unavailable where they do not fit in the GPU's memory.
  Operands(const Device& device, const std::vector<std::int64_t>& sizes_bytes, bool is_cold);

  std::int64_t n_copies() const { return n_copies_; }
  /// Describes the copies of every operand.
  Copies copies() const { return {n_copies_, stride_bytes_}; }
  /// All copies of all operands, as they lie in memory.
  const Buffer& buffer() const { return buffer_; }
  template <typename T>
  T* get(std::int64_t call, std::size_t operand) const {
    return reinterpret_cast<T*>(buffer_.bytes() + (call % n_copies_) * stride_bytes_ +
                                offsets_bytes_[operand]);
  }
  std::int64_t size_bytes(std::size_t operand) const { return sizes_bytes_[operand]; }
  /// Fills an operand in all its copies, each with other values.
  void fill_bf16(std::size_t operand, float scale, cudaStream_t stream) const;
  void fill_fp32(std::size_t operand, float scale, bool positive, cudaStream_t stream) const;
  void fill_int32(std::size_t operand, std::int32_t limit, cudaStream_t stream) const;

 private:
  std::vector<std::int64_t> sizes_bytes_;
  std::vector<std::int64_t> offsets_bytes_;
  std::int64_t stride_bytes_ = 0;
  std::int64_t n_copies_ = 1;
  Buffer buffer_;
};

/// A case whose calls the launch function queues. `keep` is what it uses and must live as long.
Prepared timed_by_sampler(Device& device, std::string library, std::function<void(std::int64_t call)> launch,
                          std::shared_ptr<void> keep, std::map<std::string, std::string> details = {});

}  // namespace packsim::microbench
