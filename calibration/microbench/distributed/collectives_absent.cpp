// This file takes the place of the .cu files of this folder that need NCCL, in a build without it.

#include "calibration/microbench/distributed/collectives.hpp"

namespace packsim::microbench {
namespace {

constexpr const char* kReason = "built without NCCL";

}  // namespace

Prepared prepare_collective(const KernelCase& /*kernel*/, Device& /*device*/) {
  throw Unavailable(kReason);
}

Prepared prepare_overlap(const KernelCase& /*kernel*/, Device& /*device*/) {
  throw Unavailable(kReason);
}

std::string collective_standing(const Device& /*device*/) {
  return std::string("absent: ") + kReason;
}

void close_collectives() {}

std::vector<CollectiveCheck> verify_collectives(Device& /*device*/) {
  return {};
}

}  // namespace packsim::microbench
