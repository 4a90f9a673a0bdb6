#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibration/microbench/core/coordination.hpp"
#include "calibration/microbench/core/family.hpp"

namespace packsim::microbench {

/// Throws std::runtime_error with what failed and CUDA's own words.
void check_cuda(cudaError_t status, const char* what);

/// The GPUs of this process. Single-GPU kernels run on the first, on `stream()`.
class Device {
 public:
  /// Throws std::runtime_error where there is no driver or no such GPU. ordinals: CUDA's numbers, not empty.
  Device(std::vector<int> ordinals, Coordination& coordination);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinals_.front(); }
  const std::vector<int>& ordinals() const { return ordinals_; }
  const cudaDeviceProp& properties() const { return properties_; }
  cudaStream_t stream() const { return stream_; }
  Coordination& coordination() { return *coordination_; }
  std::int64_t free_bytes() const;
  std::int64_t l2_bytes() const { return properties_.l2CacheSize; }

 private:
  std::vector<int> ordinals_;
  Coordination* coordination_;
  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
};

/// Memory of the GPU that is current. Throws Unavailable, with the sizes, where it is not to be had.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t size_bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::byte* bytes() const { return static_cast<std::byte*>(data_); }
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t size_bytes_ = 0;
};

/// Several arrays of one size, at equal distances.
struct Copies {
  std::int64_t n = 1;
  std::int64_t stride_bytes = 0;
};

/// Fills with bf16 values (or fp32), uniform in [-scale, scale), hashed from the index and the seed: never
/// zeros, which run faster than real data. `size_bytes`, of each copy, is rounded down to whole values.
void fill_random_bf16(void* data, std::int64_t size_bytes, float scale, std::uint64_t seed,
                      cudaStream_t stream, Copies copies = {});
void fill_random_fp32(void* data, std::int64_t size_bytes, float scale, std::uint64_t seed,
                      cudaStream_t stream, Copies copies = {});
/// Uniform in (0, scale): second moments.
void fill_positive_fp32(void* data, std::int64_t size_bytes, float scale, std::uint64_t seed,
                        cudaStream_t stream, Copies copies = {});
/// Integers in [0, limit).
void fill_random_int32(std::int32_t* data, std::int64_t n, std::int32_t limit, std::uint64_t seed,
                       cudaStream_t stream, Copies copies = {});

}  // namespace packsim::microbench
