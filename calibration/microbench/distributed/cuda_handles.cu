#include "calibration/microbench/distributed/cuda_handles.hpp"

namespace packsim::microbench {
namespace {

__device__ unsigned long long now_ns() {
  unsigned long long time_ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time_ns));
  return time_ns;
}

__global__ void delay(unsigned long long delay_ns) {
  const unsigned long long start_ns = now_ns();
  while (now_ns() - start_ns < delay_ns) __nanosleep(200);
}

}  // namespace

bool Event::is_over() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // not an error, and the next check must not take it for one
    return false;
  }
  check_cuda(status, "cudaEventQuery");
  return true;
}

double seconds_between(const Event& start, const Event& stop) {
  float time_ms = 0;
  check_cuda(cudaEventElapsedTime(&time_ms, start.get(), stop.get()), "cudaEventElapsedTime");
  return static_cast<double>(time_ms) * 1e-3;
}

void queue_delay(double delay_s, cudaStream_t stream) {
  delay<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(delay_s * 1e9));
  check_cuda(cudaGetLastError(), "start of the delay kernel");
}

}  // namespace packsim::microbench
