#include "models/precision.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {

void read_precision(JsonReader& reader, ParallelPlan& plan) {
  std::vector<std::string> names;
  for (const PrecisionKind& kind : kPrecisions) names.emplace_back(kind.name);
  const auto fallback = static_cast<std::size_t>(plan.precision);
  plan.precision = kPrecisions[reader.one_of("precision", names, fallback)].precision;
  plan.fp8_gather = reader.boolean("fp8_gather", plan.fp8_gather);
}

}  // namespace packsim
