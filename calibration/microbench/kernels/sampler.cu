#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <utility>

#include "calibration/microbench/kernels/sampler.hpp"

namespace packsim::microbench {
namespace {

constexpr double kSample_s = 500e-6;
constexpr int kMostCalls = 500;                      // the driver queues 1024 launches, and a call may be two
constexpr std::uint64_t kLongestHold_ns = 50000000;  // the gate opens by itself, should a launch wait for it
constexpr double kSettle_s = 2e-3;
constexpr int kLoadingCalls = 2;
constexpr int kMostAttempts = 3;
constexpr std::int64_t kAlignment_bytes = 256;

__device__ std::uint64_t global_timer_ns() {
  std::uint64_t now_ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
  return now_ns;
}

__global__ void wait_for_gate(volatile Gate* gate, unsigned ticket) {
  const std::uint64_t start_ns = global_timer_ns();
  while (gate->opened != ticket) {
    if (global_timer_ns() - start_ns < kLongestHold_ns) continue;
    gate->gave_up = ticket;
    return;
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Sampler::Sampler(Device& device, std::function<void(std::int64_t)> launch)
    : stream_(device.stream()), launch_(std::move(launch)), start_(make_event()), stop_(make_event()) {
  void* gate = nullptr;
  check_cuda(cudaHostAlloc(&gate, sizeof(Gate), cudaHostAllocMapped | cudaHostAllocPortable),
             "allocate pinned memory");
  gate_.reset(static_cast<Gate*>(gate));
  *gate_ = {};
  // The first calls load modules, for which the driver may wait until the GPU is idle: the gate must not hold it.
  for (int i = 0; i < kLoadingCalls; ++i) launch_(call_++);
  check_cuda(cudaStreamSynchronize(stream_), "run the kernel");
  // Then calls until the clocks have left idle.
  const auto start = std::chrono::steady_clock::now();
  do {
    time_batch_s(1);
  } while (seconds_since(start) < kSettle_s);
  // One call alone costs more than one of many; what many cost says how many are needed.
  n_calls_ = calls_of_a_sample();
  n_calls_ = calls_of_a_sample();
}

void Sampler::FreeGate::operator()(Gate* gate) const {
  cudaDeviceSynchronize();
  cudaFreeHost(gate);
}

Sampler::Event Sampler::make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "create an event");
  return Event(event);
}

int Sampler::calls_of_a_sample() {
  const double call_s = std::max(time_batch_s(n_calls_), 1e-9);
  return static_cast<int>(std::clamp(std::ceil(kSample_s / call_s), 1.0, static_cast<double>(kMostCalls)));
}

double Sampler::time_once_s() {
  return time_batch_s(n_calls_);
}

double Sampler::time_batch_s(int n_calls) {
  for (int attempt = 1;; ++attempt) {
    const double call_s = time_held_batch_s(n_calls);
    if (std::atomic_ref<unsigned>(gate_->gave_up).load(std::memory_order_acquire) != ticket_) return call_s;
    // The GPU began before the host had queued all: its time may be the host's. Fewer calls are queued sooner.
    if (n_calls == 1 && attempt >= kMostAttempts)
      throw Unavailable("the host takes over " + std::to_string(kLongestHold_ns / 1000000) +
                        " ms to launch it, which would count as the kernel's time");
    n_calls = n_calls_ = std::max(n_calls / 2, 1);
  }
}

double Sampler::time_held_batch_s(int n_calls) {
  const unsigned ticket = ++ticket_;
  void* gate = nullptr;
  check_cuda(cudaHostGetDevicePointer(&gate, gate_.get(), 0), "map pinned memory");
  wait_for_gate<<<1, 1, 0, stream_>>>(static_cast<Gate*>(gate), ticket);
  check_cuda(cudaGetLastError(), "launch the gate");
  check_cuda(cudaEventRecord(start_.get(), stream_), "record an event");
  for (int i = 0; i < n_calls; ++i) launch_(call_++);
  check_cuda(cudaEventRecord(stop_.get(), stream_), "record an event");
  std::atomic_ref<unsigned>(gate_->opened).store(ticket, std::memory_order_release);
  check_cuda(cudaEventSynchronize(stop_.get()), "run the kernel");
  float batch_ms = 0;
  check_cuda(cudaEventElapsedTime(&batch_ms, start_.get(), stop_.get()), "read the events");
  return static_cast<double>(batch_ms) * 1e-3 / n_calls;
}

Operands::Operands(const Device& device, const std::vector<std::int64_t>& sizes_bytes, bool is_cold)
    : sizes_bytes_(sizes_bytes) {
  for (const std::int64_t size_bytes : sizes_bytes) {
    offsets_bytes_.push_back(stride_bytes_);
    stride_bytes_ += (size_bytes + kAlignment_bytes - 1) / kAlignment_bytes * kAlignment_bytes;
  }
  stride_bytes_ = std::max(stride_bytes_, kAlignment_bytes);
  if (is_cold) n_copies_ = 1 + (2 * device.l2_bytes() + stride_bytes_ - 1) / stride_bytes_;
  // One call alone drives out what it began with, where its data are many times the cache.
  const bool is_its_own_flush = stride_bytes_ > 8 * device.l2_bytes();
  if (is_its_own_flush && n_copies_ * stride_bytes_ > device.free_bytes() / 2) n_copies_ = 1;
  buffer_ = Buffer(n_copies_ * stride_bytes_);
}

void Operands::fill_bf16(std::size_t operand, float scale, cudaStream_t stream) const {
  fill_random_bf16(get<void>(0, operand), size_bytes(operand), scale, operand + 1, stream, copies());
}

void Operands::fill_fp32(std::size_t operand, float scale, bool positive, cudaStream_t stream) const {
  (positive ? fill_positive_fp32 : fill_random_fp32)(get<void>(0, operand), size_bytes(operand), scale,
                                                     operand + 1, stream, copies());
}

void Operands::fill_int32(std::size_t operand, std::int32_t limit, cudaStream_t stream) const {
  fill_random_int32(get<std::int32_t>(0, operand), size_bytes(operand) / 4, limit, operand + 1, stream,
                    copies());
}

Prepared timed_by_sampler(Device& device, std::string library, std::function<void(std::int64_t call)> launch,
                          std::shared_ptr<void> keep, std::map<std::string, std::string> details) {
  struct Case {
    std::shared_ptr<void> keep;  // goes after the sampler, whose end waits for the GPU
    Sampler sampler;
  };
  const std::shared_ptr<Case> timed(new Case{std::move(keep), {device, std::move(launch)}});
  details["calls_per_sample"] = std::to_string(timed->sampler.n_calls());
  return {std::move(library), [timed] { return timed->sampler.time_once_s(); }, std::move(details)};
}

}  // namespace packsim::microbench
