#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "packing/options/limits.hpp"
#include "packing/schedule/schedule.hpp"
#include "plan_files/mistakes.hpp"
#include "plan_files/plan_limits.hpp"
#include "plan_files/plan_tables.hpp"

namespace packsim {
namespace {

void check_facts(const PlanTables& tables, Mistakes& mistakes) {
  const PlanFacts& facts = tables.facts;
  const auto expect = [&](const char* key, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    mistakes.add(std::string("facts: /") + key, std::to_string(least) + ".." + std::to_string(most),
                 std::to_string(value));
  };
  expect("n_gpus", facts.n_gpus, 1, kMostGpus);
  expect("tp_degree", facts.tp_degree, 1, kMostGpus);
  expect("pp_degree", facts.pp_degree, 1, kMostGpus);
  expect("ep_degree", facts.ep_degree, 1, kMostGpus);
  expect("zero_stage", facts.zero_stage, 0, 3);
  expect("virtual_stages", facts.virtual_stages, 0, kMostPlanLayers);
  expect("shard_degree", facts.shard_degree, -1, kMostGpus);
  expect("mlp_tiles", facts.mlp_tiles, 0, kMostPlanTiles);
  expect("loss_tiles", facts.loss_tiles, 0, kMostPlanTiles);
  expect("epochs", facts.epochs, 1, kMostPlanEpochs);
  expect("tokens_per_iteration", facts.tokens_per_iteration, 0, kMostTokensPerIteration);
  expect("pad_multiple_tokens", facts.pad_multiple_tokens, 1, kLongestCapacityTokens);
  expect("n_samples", facts.counts.n_samples, 0,
         std::min(kMostSamples,
                  kMostAbsentSamples + (kMostAbsentSamplesPerItem + 1) * std::ssize(tables.lengths_tokens)));
  if (facts.epochs >= 1 && tables.iterations.size() % static_cast<std::size_t>(facts.epochs) != 0) {
    mistakes.add("iterations", "a multiple of " + std::to_string(facts.epochs) + " epochs",
                 std::to_string(tables.iterations.size()));
  }
}

void check_groups(const PlanTables& tables, Mistakes& mistakes) {
  if (tables.groups.empty()) mistakes.add("groups", "at least one", "none");
  if (tables.groups.size() > kMostPlanGroups) {
    return mistakes.add("groups", "at most " + std::to_string(kMostPlanGroups),
                        std::to_string(tables.groups.size()));
  }
  std::uint64_t n_packs = 0;
  for (std::size_t g = 0; g < tables.groups.size(); ++g) {
    const PlanGroup& group = tables.groups[g];
    if (group.capacity_tokens < 1 || group.capacity_tokens > kLongestCapacityTokens) {
      mistakes.add("groups.capacity_tokens", g, "1.." + std::to_string(kLongestCapacityTokens),
                   group.capacity_tokens);
    }
    if (group.first_pack != n_packs)
      mistakes.add("groups.first_pack", g, std::to_string(n_packs), group.first_pack);
    n_packs += group.n_packs;
    const std::uint64_t gpus = group.gpus_per_pack();
    const auto n_gpus = static_cast<std::uint64_t>(tables.facts.n_gpus);
    if (gpus == 0 || n_gpus % gpus != 0) {
      mistakes.add("groups.sp_degree * cp_degree", g, "a divisor of " + std::to_string(n_gpus) + " GPUs",
                   gpus);
    }
    if (group.gc_layers > kMostPlanLayers) {
      mistakes.add("groups.gc_layers", g, "0.." + std::to_string(kMostPlanLayers) + " layers",
                   group.gc_layers);
    }
    if (group.micro_batches_per_rank < 1 ||
        group.micro_batches_per_rank > static_cast<std::uint32_t>(kMostMicroBatches)) {
      mistakes.add("groups.micro_batches_per_rank", g, "1.." + std::to_string(kMostMicroBatches),
                   group.micro_batches_per_rank);
    }
    if (group.reserved != 0) mistakes.add("groups.reserved", g, "0", group.reserved);
  }
  mistakes.expect_size("pack_offsets", tables.pack_offsets.size(), n_packs + 1);
}

void check_items(const PlanTables& tables, Mistakes& mistakes) {
  const std::size_t n_items = tables.lengths_tokens.size();
  constexpr std::size_t kMostItems = std::numeric_limits<std::uint32_t>::max();  // indices have 32 bits
  if (n_items > kMostItems)
    mistakes.add("lengths_tokens", "at most " + std::to_string(kMostItems) + " elements",
                 std::to_string(n_items));
  const auto offsets = tables.pack_offsets;
  if (!offsets.empty()) {
    if (offsets.front() != 0) mistakes.add("pack_offsets", 0, "0", offsets.front());
    mistakes.add_first(
        "pack_offsets", offsets, "more than the one before",
        [&](std::size_t i, std::uint64_t offset) { return i > 0 && offset <= offsets[i - 1]; });
    mistakes.expect_size("pack_items", tables.pack_items.size(), offsets.back());
  }
  if (tables.pack_items.size() > n_items) {
    mistakes.add("pack_items", "at most " + std::to_string(n_items) + " elements, each item once",
                 std::to_string(tables.pack_items.size()));
  }
  mistakes.add_first("pack_items", tables.pack_items, "an item of " + std::to_string(n_items),
                     [&](std::size_t, std::uint32_t item) { return item >= n_items; });
  mistakes.add_first("lengths_tokens", tables.lengths_tokens, ">= 0",
                     [](std::size_t, std::int32_t length) { return length < 0; });
  if (!tables.loss_tokens.empty()) {
    mistakes.expect_size("loss_tokens", tables.loss_tokens.size(), n_items);
    const auto most = tables.lengths_tokens.first(std::min(n_items, tables.loss_tokens.size()));
    mistakes.add_first("loss_tokens", tables.loss_tokens.first(most.size()), "0 to the item's length",
                       [&](std::size_t i, std::int32_t n) { return n < 0 || n > most[i]; });
  }
  const auto n_samples = static_cast<std::uint64_t>(tables.facts.counts.n_samples);
  if (tables.piece_samples.empty() && tables.piece_starts.empty()) {
    // Where all samples are left out and would be cut, there are no pieces.
    if (n_items > 0) mistakes.expect_size("lengths_tokens", n_items, n_samples);
    return;
  }
  mistakes.expect_size("piece_samples", tables.piece_samples.size(), n_items);
  mistakes.expect_size("piece_starts", tables.piece_starts.size(), n_items);
  if (mistakes.any()) return;
  mistakes.add_first("piece_samples", tables.piece_samples, "a sample of " + std::to_string(n_samples),
                     [&](std::size_t, std::uint32_t sample) { return sample >= n_samples; });
  mistakes.add_first("piece_starts", tables.piece_starts, "a token that a sample can have",
                     [&](std::size_t i, std::int32_t start) {
                       return start < 0 ||
                              start > std::numeric_limits<std::int32_t>::max() - tables.lengths_tokens[i];
                     });
}

// [n_placed] of the iteration that begins at each placed pack; 0: none does. Empty where iterations share
// some of their packs: all iterations are cells of one division of the placed packs, as an epoch repeats an
// iteration or does not.
std::vector<std::uint32_t> division_of_placed(const PlanTables& tables, Mistakes& mistakes) {
  const std::size_t n_placed = tables.placed.size();
  std::vector<std::uint32_t> n_placed_from(n_placed);
  for (std::size_t i = 0; i < tables.iterations.size(); ++i) {
    const PlanIteration& iteration = tables.iterations[i];
    if (iteration.n_placed == 0 || std::size_t{iteration.first_placed} + iteration.n_placed > n_placed) {
      mistakes.add("iterations", i, "packs of " + std::to_string(n_placed) + " placed ones",
                   iteration.first_placed);
      return {};
    }
    std::uint32_t& known = n_placed_from[iteration.first_placed];
    if (known != 0 && known != iteration.n_placed) {
      mistakes.add("iterations.n_placed", i, std::to_string(known), iteration.n_placed);
      return {};
    }
    known = iteration.n_placed;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < n_placed; ++i) {
    if (i == next && n_placed_from[i] == 0) {
      mistakes.add("placed", i, "one of an iteration", i);
      return {};
    }
    if (i != next && n_placed_from[i] != 0) {
      mistakes.add("placed", i, "one of one iteration", n_placed_from[i]);
      return {};
    }
    if (i == next) next += n_placed_from[i];
  }
  return n_placed_from;
}

// The GPUs of a placed pack.
struct GpusOfPack {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t placed = 0;
};

// Whether no GPU has two packs of the round. Looks at packs, not at GPUs, of which a file may say any number.
bool share_no_gpu(std::vector<GpusOfPack>& round, Mistakes& mistakes) {
  const auto are_apart = [](const GpusOfPack& one, const GpusOfPack& next) { return one.end <= next.begin; };
  if (std::ranges::adjacent_find(round, std::not_fn(are_apart)) == round.end()) return true;
  std::ranges::sort(round, {}, [](const GpusOfPack& pack) { return std::pair(pack.begin, pack.placed); });
  const auto both = std::ranges::adjacent_find(round, std::not_fn(are_apart));
  if (both == round.end()) return true;
  mistakes.add("placed", std::max(both->placed, (both + 1)->placed),
               "a GPU without another pack in the round", (both + 1)->begin);
  return false;
}

// Whether the numbers of a placed pack can be, beside the one before it in the iteration.
bool can_be(const PlanTables& tables, std::size_t i, std::uint16_t earlier_round, Mistakes& mistakes) {
  const PlanPlacedPack& placed = tables.placed[i];
  const auto refuse = [&](const char* column, const std::string& expected, std::uint64_t got) {
    mistakes.add(std::string("placed.") + column, i, expected, got);
    return false;
  };
  if (placed.group >= tables.groups.size())
    return refuse("group", "one of " + std::to_string(tables.groups.size()), placed.group);
  const PlanGroup& group = tables.groups[placed.group];
  if (placed.pack >= group.n_packs)
    return refuse("pack", "one of " + std::to_string(group.n_packs), placed.pack);
  const std::uint64_t gpus = group.gpus_per_pack();
  const auto n_gpus = static_cast<std::uint64_t>(tables.facts.n_gpus);
  if (placed.first_gpu % gpus != 0 || placed.first_gpu > n_gpus - gpus) {
    return refuse("first_gpu", "a multiple of " + std::to_string(gpus) + " below " + std::to_string(n_gpus),
                  placed.first_gpu);
  }
  if (placed.round < earlier_round) return refuse("round", "rounds ascending", placed.round);
  if (placed.flags > PlanPlacedPack::kAfterBarrier) return refuse("flags", "0 or 1", placed.flags);
  return true;
}

void check_iterations(const PlanTables& tables, Mistakes& mistakes) {
  const std::size_t n_placed = tables.placed.size();
  mistakes.expect_size("weights", tables.weights.size(), n_placed);
  mistakes.add_first("weights", tables.weights, "finite and >= 0",
                     [](std::size_t, double weight) { return !(weight >= 0) || std::isinf(weight); });
  const std::vector<std::uint32_t> n_placed_from = division_of_placed(tables, mistakes);
  if (n_placed_from.size() != n_placed) return;
  std::vector<GpusOfPack> round;
  for (std::size_t i = 0; i < n_placed; ++i) {
    const bool is_first = n_placed_from[i] != 0;
    const std::uint16_t earlier_round = is_first ? std::uint16_t{0} : tables.placed[i - 1].round;
    if (!can_be(tables, i, earlier_round, mistakes)) return;
    const PlanPlacedPack& placed = tables.placed[i];
    if (is_first || placed.round != earlier_round) {
      if (!share_no_gpu(round, mistakes)) return;
      round.clear();
    }
    round.push_back({.begin = placed.first_gpu,
                     .end = placed.first_gpu + tables.groups[placed.group].gpus_per_pack(),
                     .placed = i});
  }
  share_no_gpu(round, mistakes);
}

}  // namespace

std::vector<std::string> table_mistakes(const PlanTables& tables) {
  Mistakes mistakes;
  check_facts(tables, mistakes);
  check_groups(tables, mistakes);
  check_items(tables, mistakes);
  if (!mistakes.any()) check_iterations(tables, mistakes);
  return std::move(mistakes).take();
}

}  // namespace packsim
