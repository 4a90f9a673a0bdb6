#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "calibration/microbench/kernels/device.hpp"

namespace packsim::microbench {

/// Makes a GPU current for this thread, and then again the one that was.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ != device) check_cuda(cudaSetDevice(device), "cudaSetDevice");
  }
  ~OnDevice() {
    int now = before_;
    if (cudaGetDevice(&now) == cudaSuccess && now != before_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

/// A stream belongs to the GPU that is current when it is made. It does not block the default stream, as its
/// users expect.
class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) const { check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  bool is_over() const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// Seconds from one to the other, which may be of two streams of one GPU. Both must be over.
double seconds_between(const Event& start, const Event& stop);

/// Keeps the stream busy for this long: what is queued behind it in the meantime starts without a gap.
void queue_delay(double delay_s, cudaStream_t stream);

}  // namespace packsim::microbench
