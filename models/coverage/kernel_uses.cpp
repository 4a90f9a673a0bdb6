#include "models/coverage/kernel_uses.hpp"

namespace packsim {

void KernelUses::add(const KernelCase& kernel, double count, std::string_view part) {
  if (count == 0) return;
  const auto [at, is_new] = index_of_.try_emplace(std::string(part) + " " + kernel.text(), uses_.size());
  if (is_new) {
    uses_.push_back({kernel, count, std::string(part)});
  } else {
    uses_[at->second].count += count;
  }
}

void KernelUses::add_launch_gaps() {
  double n_kernels = 0;
  for (const KernelUse& use : uses_) n_kernels += use.count;
  add(KernelCase::of("launch_gap", {}), n_kernels, "launch");
}

}  // namespace packsim
