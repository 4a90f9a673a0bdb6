#include <cuda_bf16.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "calibration/microbench/kernels/device.hpp"

namespace packsim::microbench {
namespace {

constexpr int kThreads = 256;

// Finalizer of SplitMix64: neighbouring indices give unrelated bits.
__device__ std::uint64_t hashed(std::uint64_t index, std::uint64_t seed) {
  std::uint64_t z = index + seed * 0x9E3779B97F4A7C15ull + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Uniform in [-scale, scale), never exactly 0: 23 random bits at half steps.
__device__ float uniform(std::uint64_t index, std::uint64_t seed, float scale) {
  const auto bits = static_cast<float>(hashed(index, seed) >> 41);
  return ((bits + 0.5f) * (1.0f / 4194304.0f) - 1.0f) * scale;
}

// Calls store(value, index) for n values in each copy; the index goes on from one copy to the next.
template <typename T, typename Store>
__global__ void fill(T* data, std::int64_t n, std::int64_t n_copies, std::int64_t stride_bytes, Store store) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n * n_copies;
       i += step) {
    char* copy = reinterpret_cast<char*>(data) + i / n * stride_bytes;
    store(reinterpret_cast<T*>(copy)[i % n], static_cast<std::uint64_t>(i));
  }
}

template <typename T, typename Store>
void launch_fill(void* data, std::int64_t n, Copies copies, Store store, cudaStream_t stream) {
  if (n <= 0) return;
  const std::int64_t n_blocks = std::min<std::int64_t>((n * copies.n + kThreads - 1) / kThreads, 16384);
  fill<<<static_cast<unsigned>(n_blocks), kThreads, 0, stream>>>(static_cast<T*>(data), n, copies.n,
                                                                 copies.stride_bytes, store);
  check_cuda(cudaGetLastError(), "fill with random values");
}

std::string gib(std::int64_t size_bytes) {
  const std::int64_t tenths = (size_bytes * 10 + (std::int64_t{1} << 29)) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

struct StoreUniform {
  std::uint64_t seed;
  float scale;
  bool positive;

  __device__ float value(std::uint64_t index) const {
    const float signed_value = uniform(index, seed, scale);
    return positive ? fabsf(signed_value) : signed_value;
  }
  __device__ void operator()(__nv_bfloat16& to, std::uint64_t index) const {
    to = __float2bfloat16(value(index));
  }
  __device__ void operator()(float& to, std::uint64_t index) const { to = value(index); }
};

struct StoreInteger {
  std::uint64_t seed;
  std::uint32_t limit;

  __device__ void operator()(std::int32_t& to, std::uint64_t index) const {
    to = static_cast<std::int32_t>(((hashed(index, seed) >> 32) * limit) >> 32);
  }
};

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status) + " (" +
                           cudaGetErrorName(status) + ")");
}

Device::Device(std::vector<int> ordinals, Coordination& coordination)
    : ordinals_(std::move(ordinals)), coordination_(&coordination) {
  check_cuda(cudaSetDevice(ordinal()), "choose the GPU");
  check_cuda(cudaGetDeviceProperties(&properties_, ordinal()), "read the GPU's properties");
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
}

Device::~Device() {
  cudaSetDevice(ordinal());
  cudaStreamDestroy(stream_);
}

std::int64_t Device::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "read the free memory");
  return static_cast<std::int64_t>(free);
}

Buffer::Buffer(std::int64_t size_bytes) : size_bytes_(size_bytes) {
  const cudaError_t status =
      cudaMalloc(&data_, static_cast<std::size_t>(std::max<std::int64_t>(size_bytes, 1)));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is told here, and no later call shall report it again
    std::size_t free = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free, &total);
    throw Unavailable("needs " + gib(size_bytes) + " of GPU memory at a time, of which " +
                      gib(static_cast<std::int64_t>(free)) + " are free");
  }
  check_cuda(status, "allocate GPU memory");
}

Buffer::~Buffer() {
  // Waits for the kernels that use it.
  if (data_ != nullptr) cudaFree(data_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

void fill_random_bf16(void* data, std::int64_t size_bytes, float scale, std::uint64_t seed,
                      cudaStream_t stream, Copies copies) {
  launch_fill<__nv_bfloat16>(data, size_bytes / 2, copies, StoreUniform{seed, scale, false}, stream);
}

void fill_random_fp32(void* data, std::int64_t size_bytes, float scale, std::uint64_t seed,
                      cudaStream_t stream, Copies copies) {
  launch_fill<float>(data, size_bytes / 4, copies, StoreUniform{seed, scale, false}, stream);
}

void fill_positive_fp32(void* data, std::int64_t size_bytes, float scale, std::uint64_t seed,
                        cudaStream_t stream, Copies copies) {
  launch_fill<float>(data, size_bytes / 4, copies, StoreUniform{seed, scale, true}, stream);
}

void fill_random_int32(std::int32_t* data, std::int64_t n, std::int32_t limit, std::uint64_t seed,
                       cudaStream_t stream, Copies copies) {
  launch_fill<std::int32_t>(data, n, copies, StoreInteger{seed, static_cast<std::uint32_t>(limit)}, stream);
}

}  // namespace packsim::microbench
