// This file takes the place of attention.cpp in a build without cuDNN or its frontend.

#include "calibration/microbench/kernels/attention.hpp"

namespace packsim::microbench {

struct Attention::State {};

Attention::Attention(const AttentionShape& /*shape*/, bool /*is_backward*/, cudaStream_t /*stream*/) {
  throw Unavailable("built without cuDNN");
}
Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;
void Attention::run(const AttentionArrays& /*arrays*/) const {}
std::string Attention::plan() const {
  return "";
}

Prepared prepare_attention(const KernelCase& /*kernel*/, Device& /*device*/) {
  throw Unavailable("built without cuDNN");
}

std::string attention_standing(const Device* /*device*/) {
  return "absent: built without cuDNN";
}

}  // namespace packsim::microbench
