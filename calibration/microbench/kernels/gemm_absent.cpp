// This file takes the place of gemm.cu in a build without cuBLASLt.

#include "calibration/microbench/kernels/gemm.hpp"

namespace packsim::microbench {

struct Gemm::State {};

Gemm::Gemm(const GemmShape& /*shape*/) {
  throw Unavailable("built without cuBLASLt");
}
Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;
void Gemm::run(const void* /*left*/, const void* /*right*/, void* /*out*/, cudaStream_t /*stream*/) const {}
std::string Gemm::algorithm() const {
  return "";
}

Prepared prepare_gemm(const KernelCase& /*kernel*/, Device& /*device*/) {
  throw Unavailable("built without cuBLASLt");
}

std::string gemm_standing(const Device* /*device*/) {
  return "absent: built without cuBLASLt";
}

}  // namespace packsim::microbench
