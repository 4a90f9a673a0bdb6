#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>

#include "calibration/microbench/core/family.hpp"
#include "calibration/microbench/kernels/device.hpp"
#include "models/kernels/documents.hpp"

namespace packsim::microbench {

struct AttentionShape {
  Documents documents;
  std::int64_t n_heads;
  std::int64_t n_kv_heads;
  std::int64_t head_dim;

  std::int64_t query_bytes() const { return 2 * documents.tokens() * n_heads * head_dim; }
  std::int64_t key_bytes() const { return 2 * documents.tokens() * n_kv_heads * head_dim; }
  /// fp32, one a token and head.
  std::int64_t stats_bytes() const { return 4 * documents.tokens() * n_heads; }
};

/// Arrays of a packed attention, [tokens, heads, head_dim] of bf16 each, the documents one after the other.
struct AttentionArrays {
  void* query;
  void* key;
  void* value;
  void* out;
  void* stats;  ///< [tokens, heads] of fp32: logarithm of the sum of each row's exponentials
  void* out_gradient = nullptr;
  void* query_gradient = nullptr;
  void* key_gradient = nullptr;
  void* value_gradient = nullptr;
};

/// cuDNN's fused causal attention over the documents of a pack, none of which sees another; scores are
/// divided by sqrt(head_dim). Forward writes out and stats; backward reads them and writes the gradients.
class Attention {
 public:
  /// Prepares the kernel on the GPU that is current. Throws Unavailable where the program was built without
  /// cuDNN or cuDNN does not run this shape, std::runtime_error where it fails.
  Attention(const AttentionShape& shape, bool is_backward, cudaStream_t stream);
  ~Attention();
  Attention(Attention&&) noexcept;
  Attention& operator=(Attention&&) noexcept;

  /// Queues it on the stream.
  void run(const AttentionArrays& arrays) const;
  /// cuDNN's name of the plan, for the record.
  std::string plan() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Forward, or backward alone: the statistics that it needs are made once, before.
Prepared prepare_attention(const KernelCase& kernel, Device& device);
/// "cuDNN 9.19.0 (frontend 1.19.1)", or why there is none.
std::string attention_standing(const Device* device);

}  // namespace packsim::microbench
