#include "experiment/plans/pack_cache.hpp"

#include <fmt/format.h>

namespace packsim {
namespace {

std::string policies_key(const StrategySpec& spec, PolicyUse use) {
  std::string key;
  for (const Policy& policy : kPolicies)
    if (policy.use == use) key += " " + text_of(policy.get(spec));
  return key;
}

// All that packs depend on beside the lengths.
std::string packing_key(const StrategySpec& spec) {
  std::string key = fmt::format("{}{} {}", spec.strategy, policies_key(spec, PolicyUse::packs),
                                spec.longest_tokens.value_or(0));
  for (const GroupSpec& group : spec.groups) key += fmt::format(" {}", group.capacity_tokens);
  for (const auto& [name, value] : spec.options.all()) key += fmt::format(" {}={}", name, text_of(value));
  return key;
}

}  // namespace

std::shared_ptr<const PackedData> PackCache::packed(const StrategySpec& spec,
                                                    const std::function<PackedData()>& make) {
  return packed_.get(packing_key(spec), make);
}

std::shared_ptr<const PlacedPacks> PackCache::placed(const StrategySpec& spec, const ScheduleOptions& options,
                                                     const std::function<PlacedPacks()>& make) {
  std::string key = packing_key(spec);
  key += fmt::format(" on {} {}{} {} {}", options.n_gpus, options.tokens_per_iteration,
                     policies_key(spec, PolicyUse::schedule), options.epochs, options.seed);
  for (const GroupSpec& group : spec.groups) key += fmt::format(" {}", group.sequence.gpus_per_pack());
  return placed_.get(key, make);
}

}  // namespace packsim
