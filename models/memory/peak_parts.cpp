#include "models/memory/peak_memory.hpp"

namespace packsim {

std::string_view moment_name(PeakMoment moment) {
  switch (moment) {
    case PeakMoment::loss:
      return "loss";
    case PeakMoment::backward:
      return "backward";
    default:
      return "optimizer step";
  }
}

std::span<const PeakPart> peak_parts() {
  using Peak = MemoryPeak;
  static constexpr PeakPart kParts[] = {{"weights", &Peak::weights_bytes},
                                        {"gradients", &Peak::gradients_bytes},
                                        {"optimizer", &Peak::optimizer_bytes},
                                        {"activations", &Peak::activations_bytes},
                                        {"checkpoints", &Peak::checkpoints_bytes},
                                        {"recomputed", &Peak::recomputed_bytes},
                                        {"activation_gradient", &Peak::activation_gradient_bytes},
                                        {"logits", &Peak::logits_bytes},
                                        {"gathered_weights", &Peak::gathered_weights_bytes},
                                        {"bucket", &Peak::bucket_bytes},
                                        {"exchange", &Peak::exchange_bytes},
                                        {"workspace", &Peak::workspace_bytes},
                                        {"reserved", &Peak::reserved_bytes}};
  return kParts;
}

MemoryPeak& MemoryPeak::operator+=(const MemoryPeak& other) {
  for (const PeakPart& part : peak_parts()) this->*part.bytes += other.*part.bytes;
  return *this;
}

}  // namespace packsim
