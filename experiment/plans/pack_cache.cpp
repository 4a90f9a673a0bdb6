#include "experiment/plans/pack_cache.hpp"

#include <fmt/format.h>

namespace packsim {
namespace {

// All that packs depend on beside the lengths.
std::string packing_key(const StrategySpec& spec) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {}", spec.strategy, static_cast<int>(spec.over_long),
                                static_cast<int>(spec.empty), spec.window_samples,
                                static_cast<int>(spec.padding), static_cast<int>(spec.attention),
                                spec.pad_multiple_tokens, spec.longest_tokens.value_or(0));
  for (const GroupSpec& group : spec.groups) key += fmt::format(" {}", group.capacity_tokens);
  for (const auto& [name, value] : spec.options.all()) key += fmt::format(" {}={}", name, text_of(value));
  return key;
}

}  // namespace

std::shared_ptr<const PackedData> PackCache::packed(const StrategySpec& spec,
                                                    const std::function<PackedData()>& make) {
  return packed_.get(packing_key(spec), make);
}

std::shared_ptr<const ScheduledPacks> PackCache::scheduled(const StrategySpec& spec,
                                                           const ScheduleOptions& options,
                                                           const std::function<ScheduledPacks()>& make) {
  std::string key = packing_key(spec);
  key += fmt::format(" on {} {} {} {} {} {} {} {}", options.n_gpus, options.tokens_per_iteration,
                     options.micro_batches_per_rank, static_cast<int>(options.order),
                     static_cast<int>(options.last_iteration), options.curriculum_iterations, options.epochs,
                     options.seed);
  for (const GroupSpec& group : spec.groups) key += fmt::format(" {}", group.sequence.gpus_per_pack());
  return scheduled_.get(key, make);
}

}  // namespace packsim
