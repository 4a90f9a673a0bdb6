#include <memory>
#include <string>

#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/sampler.hpp"
#include "calibration/microbench/kernels/transfers.hpp"

namespace packsim::microbench {
namespace {

__global__ void empty_kernel() {}

/// Pinned memory of the host.
class HostBuffer {
 public:
  explicit HostBuffer(std::int64_t size_bytes) {
    const cudaError_t status =
        cudaHostAlloc(&data_, static_cast<std::size_t>(size_bytes), cudaHostAllocDefault);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // it is told here, and no later call shall report it again
      throw Unavailable("the host has no " + std::to_string(size_bytes) + " bytes of memory to pin");
    }
    check_cuda(status, "pin memory of the host");
  }
  ~HostBuffer() { cudaFreeHost(data_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  std::byte* bytes() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

Prepared prepare_device_copy(std::int64_t size_bytes, bool is_cold, Device& device) {
  const cudaStream_t stream = device.stream();
  enum { from, to };
  const auto o =
      std::make_shared<Operands>(device, std::vector<std::int64_t>{size_bytes, size_bytes}, is_cold);
  o->fill_bf16(from, 1, stream);
  return timed_by_sampler(
      device, "cuda",
      [=](std::int64_t i) {
        check_cuda(cudaMemcpyAsync(o->get<void>(i, to), o->get<void>(i, from),
                                   static_cast<std::size_t>(size_bytes), cudaMemcpyDeviceToDevice, stream),
                   "copy on the device");
      },
      o, {{"copies", std::to_string(o->n_copies())}});
}

}  // namespace

Prepared prepare_copy(const KernelCase& kernel, Device& device) {
  const std::int64_t size_bytes = kernel.integer("bytes");
  if (size_bytes > (std::int64_t{1} << 42)) throw Unavailable("larger than any GPU's memory");
  const bool is_cold = kernel.value("cache") == "cold";
  if (kernel.value("kind") == "device") return prepare_device_copy(size_bytes, is_cold, device);

  const bool to_device = kernel.value("kind") == "host_to_device";
  const cudaStream_t stream = device.stream();
  struct Ends {
    Operands device;
    HostBuffer host;  // the copies lie in it as on the device
  };
  Operands operands(device, {size_bytes}, is_cold);
  const std::int64_t n_copies = operands.n_copies();
  const std::int64_t all_bytes = operands.buffer().size_bytes();
  const std::shared_ptr<Ends> ends(new Ends{std::move(operands), HostBuffer(all_bytes)});
  fill_random_bf16(ends->device.buffer().bytes(), all_bytes, 1, 1, stream);
  check_cuda(cudaMemcpyAsync(ends->host.bytes(), ends->device.buffer().bytes(),
                             static_cast<std::size_t>(all_bytes), cudaMemcpyDeviceToHost, stream),
             "copy to the host");
  return timed_by_sampler(
      device, "cuda",
      [=](std::int64_t i) {
        void* here = ends->device.get<void>(i, 0);
        void* there = ends->host.bytes() + i % n_copies * ends->device.copies().stride_bytes;
        check_cuda(cudaMemcpyAsync(to_device ? here : there, to_device ? there : here,
                                   static_cast<std::size_t>(size_bytes),
                                   to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream),
                   "copy between host and device");
      },
      ends, {{"copies", std::to_string(n_copies)}});
}

Prepared prepare_launch_gap(const KernelCase& /*kernel*/, Device& device) {
  const cudaStream_t stream = device.stream();
  return timed_by_sampler(
      device, "cuda",
      [stream](std::int64_t) {
        empty_kernel<<<1, 1, 0, stream>>>();
        check_cuda(cudaGetLastError(), "launch an empty kernel");
      },
      nullptr);
}

}  // namespace packsim::microbench
