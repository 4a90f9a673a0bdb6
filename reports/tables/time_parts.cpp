#include "reports/tables/time_parts.hpp"

#include <array>

namespace packsim::formats_detail {

double TimePart::fraction(const StrategyResult& run) const {
  return fraction_of(run.times->shares);
}

double TimePart::gpu_days(const StrategyResult& run) const {
  return fraction(run) * run.times->gpu_days;
}

std::span<const TimePart> time_parts() {
  static constexpr std::array<TimePart, kNCauses + 1> kParts = {
      {{"linear layers", Cause::linear, "linear layers take", ""},
       {"attention", Cause::attention, "attention takes", ""},
       {"recompute", Cause::recompute, "recomputation takes", ""},
       {"sequence exchange", Cause::sequence, "exchange within packs takes", ""},
       {"tensor exchange", Cause::tensor, "tensor-parallel exchange takes", ""},
       {"expert exchange", Cause::expert, "exchange between experts takes", ""},
       {"pipeline transfer", Cause::pipeline, "transfers between pipeline stages take", ""},
       {"gradients, weights", Cause::states, "transfers of gradients and weights take", ""},
       {"optimizer", Cause::optimizer, "the optimizer takes", ""},
       {"host launches", Cause::host, "GPUs wait", " for their hosts to launch kernels"},
       {"fixed overhead", Cause::overhead, "fixed overhead takes", ""},
       {"idle", std::nullopt, "GPUs wait", " for each other"}}};
  return kParts;
}

std::string fraction_key(const TimePart& part) {
  return std::string(part.cause ? cause_name(*part.cause) : "idle") + "_fraction";
}

}  // namespace packsim::formats_detail
