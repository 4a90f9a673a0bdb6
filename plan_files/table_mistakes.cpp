#include <algorithm>
#include <cmath>
#include <limits>

#include "plan_files/plan_tables.hpp"

namespace packsim {
namespace {

// Adds to a list of mistakes: place[index]: expected ..., got ...
class Mistakes {
 public:
  void add(const std::string& place, const std::string& expected, const std::string& got) {
    texts_.push_back(place + ": expected " + expected + ", got " + got);
  }
  template <typename Number>
  void add(const std::string& table, std::size_t index, const std::string& expected, Number got) {
    add(table + "[" + std::to_string(index) + "]", expected, std::to_string(got));
  }
  // The first of `values` that is bad. Most files have none, so they are looked through without a branch.
  template <typename Number, typename IsBad>
  void add_first(const std::string& table, std::span<const Number> values, const std::string& expected,
                 const IsBad& is_bad) {
    bool any = false;
    for (std::size_t i = 0; i < values.size(); ++i) any |= is_bad(i, values[i]);
    for (std::size_t i = 0; any && i < values.size(); ++i) {
      if (is_bad(i, values[i])) return add(table, i, expected, values[i]);
    }
  }
  void expect_size(const std::string& table, std::size_t n, std::size_t expected) {
    if (n != expected) add(table, std::to_string(expected) + " elements", std::to_string(n));
  }
  bool any() const { return !texts_.empty(); }
  std::vector<std::string> take() && { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
};

void check_facts(const PlanTables& tables, Mistakes& mistakes) {
  const PlanFacts& facts = tables.facts;
  const auto at_least_one = [&](const char* key, std::int64_t value) {
    if (value < 1) mistakes.add(std::string("facts: /") + key, ">= 1", std::to_string(value));
  };
  at_least_one("n_gpus", facts.n_gpus);
  at_least_one("tp_degree", facts.tp_degree);
  at_least_one("pp_degree", facts.pp_degree);
  at_least_one("epochs", facts.epochs);
  at_least_one("pad_multiple_tokens", facts.pad_multiple_tokens);
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 32;  // indices have 32 bits
  if (facts.counts.n_samples > kMostSamples) {
    mistakes.add("facts: /n_samples", "at most " + std::to_string(kMostSamples),
                 std::to_string(facts.counts.n_samples));
  }
  if (facts.epochs >= 1 && tables.iterations.size() % static_cast<std::size_t>(facts.epochs) != 0) {
    mistakes.add("iterations", "a multiple of " + std::to_string(facts.epochs) + " epochs",
                 std::to_string(tables.iterations.size()));
  }
}

void check_groups(const PlanTables& tables, Mistakes& mistakes) {
  if (tables.groups.empty()) mistakes.add("groups", "at least one", "none");
  std::uint64_t n_packs = 0;
  for (std::size_t g = 0; g < tables.groups.size(); ++g) {
    const PlanGroup& group = tables.groups[g];
    if (group.capacity_tokens < 1) mistakes.add("groups.capacity_tokens", g, ">= 1", group.capacity_tokens);
    if (group.first_pack != n_packs)
      mistakes.add("groups.first_pack", g, std::to_string(n_packs), group.first_pack);
    n_packs += group.n_packs;
    const std::uint64_t gpus = group.gpus_per_pack();
    const auto n_gpus = static_cast<std::uint64_t>(tables.facts.n_gpus);
    if (gpus == 0 || gpus > n_gpus || n_gpus % gpus != 0) {
      mistakes.add("groups.sp_degree * cp_degree", g, "a divisor of " + std::to_string(n_gpus) + " GPUs",
                   gpus);
    }
    constexpr auto kMost = static_cast<std::uint32_t>(std::numeric_limits<int>::max());
    if (group.gc_layers > kMost) mistakes.add("groups.gc_layers", g, "a number of layers", group.gc_layers);
    if (group.micro_batches_per_rank < 1 || group.micro_batches_per_rank > kMost)
      mistakes.add("groups.micro_batches_per_rank", g, ">= 1", group.micro_batches_per_rank);
  }
  mistakes.expect_size("pack_offsets", tables.pack_offsets.size(), n_packs + 1);
}

void check_items(const PlanTables& tables, Mistakes& mistakes) {
  const std::size_t n_items = tables.lengths_tokens.size();
  const auto offsets = tables.pack_offsets;
  if (!offsets.empty()) {
    if (offsets.front() != 0) mistakes.add("pack_offsets", 0, "0", offsets.front());
    mistakes.add_first(
        "pack_offsets", offsets, "more than the one before",
        [&](std::size_t i, std::uint64_t offset) { return i > 0 && offset <= offsets[i - 1]; });
    mistakes.expect_size("pack_items", tables.pack_items.size(), offsets.back());
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

// Also finds iterations that share some of their packs: all iterations are cells of one division of the
// placed packs, as an epoch repeats an iteration or does not.
void check_iterations(const PlanTables& tables, Mistakes& mistakes) {
  const std::size_t n_placed = tables.placed.size();
  mistakes.expect_size("weights", tables.weights.size(), n_placed);
  mistakes.add_first("weights", tables.weights, "finite and >= 0",
                     [](std::size_t, double weight) { return !(weight >= 0) || std::isinf(weight); });
  std::vector<std::uint32_t> n_placed_from(
      n_placed);  // [n_placed] of the iteration that begins there; 0: none
  for (std::size_t i = 0; i < tables.iterations.size(); ++i) {
    const PlanIteration& iteration = tables.iterations[i];
    if (iteration.n_placed == 0 || iteration.first_placed >= n_placed ||
        iteration.n_placed > n_placed - iteration.first_placed) {
      return mistakes.add("iterations", i, "packs of " + std::to_string(n_placed) + " placed ones",
                          iteration.first_placed);
    }
    std::uint32_t& known = n_placed_from[iteration.first_placed];
    if (known != 0 && known != iteration.n_placed)
      return mistakes.add("iterations.n_placed", i, std::to_string(known), iteration.n_placed);
    known = iteration.n_placed;
  }
  std::vector<std::uint32_t> latest(static_cast<std::size_t>(tables.facts.n_gpus));  // [n_gpus] see below
  for (std::size_t begin = 0; begin < n_placed;) {
    if (n_placed_from[begin] == 0) return mistakes.add("placed", begin, "one of an iteration", begin);
    const std::size_t end = begin + n_placed_from[begin];
    int round = 0;
    std::ranges::fill(latest, 0);  // one more than the round of the GPU's latest pack
    for (std::size_t i = begin; i < end; ++i) {
      const PlanPlacedPack& placed = tables.placed[i];
      if (i > begin && n_placed_from[i] != 0)
        return mistakes.add("placed", i, "one of one iteration", n_placed_from[i]);
      if (placed.group >= tables.groups.size())
        return mistakes.add("placed.group", i, "one of " + std::to_string(tables.groups.size()),
                            placed.group);
      const PlanGroup& group = tables.groups[placed.group];
      if (placed.pack >= group.n_packs)
        return mistakes.add("placed.pack", i, "one of " + std::to_string(group.n_packs), placed.pack);
      const std::uint64_t gpus = group.gpus_per_pack();
      if (placed.first_gpu % gpus != 0 || placed.first_gpu > latest.size() - gpus) {
        return mistakes.add(
            "placed.first_gpu", i,
            "a multiple of " + std::to_string(gpus) + " below " + std::to_string(latest.size()),
            placed.first_gpu);
      }
      if (placed.round < round) return mistakes.add("placed.round", i, "rounds ascending", placed.round);
      round = placed.round;
      if (placed.flags > PlanPlacedPack::kAfterBarrier)
        return mistakes.add("placed.flags", i, "0 or 1", placed.flags);
      for (std::uint32_t gpu = placed.first_gpu; gpu < placed.first_gpu + gpus; ++gpu) {
        if (latest[gpu] == placed.round + 1U)
          return mistakes.add("placed", i, "a GPU without another pack in the round", gpu);
        latest[gpu] = placed.round + 1U;
      }
    }
    begin = end;
  }
}

}  // namespace

std::vector<std::string> table_mistakes(const PlanTables& tables) {
  Mistakes mistakes;
  check_facts(tables, mistakes);
  if (!mistakes.any()) check_groups(tables, mistakes);
  check_items(tables, mistakes);
  if (!mistakes.any()) check_iterations(tables, mistakes);
  return std::move(mistakes).take();
}

std::vector<std::string> partition_mistakes(const PlanTables& tables) {
  Mistakes mistakes;
  std::vector<bool> is_packed(tables.lengths_tokens.size());
  for (std::size_t i = 0; i < tables.pack_items.size(); ++i) {
    const std::uint32_t item = tables.pack_items[i];
    if (is_packed[item]) {
      mistakes.add("pack_items", i, "an item that is in no other pack", item);
      break;
    }
    is_packed[item] = true;
  }
  const PackCounts& counts = tables.facts.counts;
  std::int64_t n_left_out = 0;
  for (std::size_t item = 0; item < is_packed.size(); ++item) n_left_out += is_packed[item] ? 0 : 1;
  // Where samples are cut, those that are left out are no items.
  const std::int64_t may_be_left_out = counts.dropped_samples + counts.empty_samples;
  if (n_left_out > may_be_left_out) {
    mistakes.add("pack_items", "all items but " + std::to_string(may_be_left_out) + " dropped or empty ones",
                 std::to_string(n_left_out) + " in no pack");
  }
  return std::move(mistakes).take();
}

}  // namespace packsim
