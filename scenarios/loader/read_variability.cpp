
#include <algorithm>

#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

double spread(JsonReader& reader, std::string_view key) {
  return reader.value(key) == nullptr ? 0.0 : reader.number(key, 0, 1);
}

std::vector<SlowRank> read_slow_ranks(JsonReader& reader, int n_gpus) {
  constexpr double kFastest = 0.01;
  constexpr double kSlowest = 100;
  std::vector<SlowRank> slow_ranks;
  if (reader.value("slow_ranks") == nullptr) return slow_ranks;
  for (JsonReader& entry : reader.objects("slow_ranks")) {
    const std::size_t before = entry.n_problems();
    const SlowRank slow{.rank = entry.integer("rank", 0, n_gpus - 1),
                        .factor = entry.number("factor", kFastest, kSlowest)};
    if (entry.n_problems() != before) continue;
    if (std::ranges::find(slow_ranks, slow.rank, &SlowRank::rank) != slow_ranks.end())
      entry.refuse("rank", "each rank once");
    slow_ranks.push_back(slow);
  }
  return slow_ranks;
}

}  // namespace

Variability read_variability(JsonReader reader, std::uint32_t seed, int n_gpus) {
  if (reader.silent()) return {};
  return {.rank_spread = spread(reader, "rank_spread"),
          .kernel_spread = spread(reader, "kernel_spread"),
          .slow_ranks = read_slow_ranks(reader, n_gpus),
          .seed = reader.integer("seed", 0, 4294967295U, seed)};
}

}  // namespace packsim
