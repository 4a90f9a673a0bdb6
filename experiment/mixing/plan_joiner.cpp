#include "experiment/mixing/plan_joiner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "experiment/plans/joined_plans.hpp"
#include "packing/options/shared_options.hpp"

namespace packsim {
namespace {

// Takes packs that are not trained out of a plan's packing.
void remove_untrained(PlannedStrategy& plan) {
  std::vector<std::vector<std::uint32_t>> kept_as(plan.packing.groups.size());
  for (std::size_t g = 0; g < plan.packing.groups.size(); ++g) {
    PackSet kept;
    const PackSet& packs = plan.packing.groups[g];
    for (std::size_t p = 0; p < packs.n_packs(); ++p) {
      kept_as[g].push_back(static_cast<std::uint32_t>(kept.n_packs()));
      if (plan.uses.of_pack[g][p] == 0) continue;
      kept.items.insert(kept.items.end(), packs[p].begin(), packs[p].end());
      kept.close_pack();
    }
    plan.packing.groups[g] = std::move(kept);
  }
  for (PlacedPack& placed : plan.schedule.placed) placed.pack = kept_as[placed.group][placed.pack];
}

}  // namespace

void PlanJoiner::count(const PlannedStrategy& plan, const std::vector<std::uint32_t>& items,
                       const std::vector<std::uint32_t>& left) {
  const PackCounts& counts = plan.packing.counts;
  counts_.dropped_samples += counts.dropped_samples;
  counts_.dropped_tokens += counts.dropped_tokens;
  counts_.empty_samples += counts.empty_samples;
  counts_.own_pack_samples += counts.own_pack_samples;
  counts_.truncated_samples += counts.truncated_samples;
  counts_.truncated_tokens += counts.truncated_tokens;
  std::vector<char> waits(items.size(), 0);
  for (const std::uint32_t sample : left) waits[sample] = 1;
  const bool is_cut = !plan.packing.pieces.empty();
  if (is_cut && kept_tokens_.empty()) kept_tokens_ = draws_.lengths_tokens;
  const std::size_t n_items = plan.packing.lengths_tokens.size();
  for (std::size_t item = 0; item < n_items; ++item) {
    const Piece piece = plan.packing.piece(static_cast<ItemIndex>(item));
    const std::int32_t whole = draws_.lengths_tokens[items[piece.sample_index]];
    const bool is_over_long = whole > plan.packing.capacities_tokens.back();
    if (waits[piece.sample_index] == 0) {
      if (is_cut) kept_tokens_[items[piece.sample_index]] = piece.n_tokens;
      continue;
    }
    // The next window counts it.
    if (piece.n_tokens < whole) {
      --counts_.truncated_samples;
      counts_.truncated_tokens -= whole - piece.n_tokens;
    } else if (is_over_long && counts.own_pack_samples > 0) {
      --counts_.own_pack_samples;
    }
  }
}

void PlanJoiner::add(PlannedStrategy plan, const StrategySpec& spec, std::vector<std::uint32_t> items,
                     const std::vector<std::uint32_t>& left) {
  count(plan, items, left);
  PlannedWindow window{
      .first_iteration =
          windows_.empty() ? 0 : windows_.back().first_iteration + windows_.back().n_iterations,
      .n_iterations = std::ssize(plan.schedule.iterations),
      .n_draws = std::ssize(items),
      .carried_draws = std::ssize(left),
      .fill_fraction = pack_statistics(plan.packing).fill_fraction,
      .balance = {}};
  if (window.n_iterations > 0) window.balance = measure(plan.schedule, plan.batches);
  windows_.push_back(window);
  if (!plan.packing.planned.iterations.empty()) {
    const OrderMoves moves = order_moves(plan.packing, spec.options);
    moves_.mean_move_iterations += moves.mean_move_iterations;
    moves_.largest_move_iterations = std::max(moves_.largest_move_iterations, moves.largest_move_iterations);
    ++n_moves_;
  }
  if (!left.empty()) {
    remove_untrained(plan);
    plan.schedule.dropped_packs = 0;  // they wait
    plan.schedule.dropped_tokens = 0;
  }
  if (!plan.packing.planned.iterations.empty()) {
    // The iterations are those that are trained; the ones that wait are out of the schedule.
    plan.packing.planned = {.placed = plan.schedule.placed, .iterations = plan.schedule.iterations};
  }
  std::vector<std::uint32_t> draws_of_items;
  const std::size_t n_items = plan.packing.lengths_tokens.size();
  for (std::size_t item = 0; item < n_items; ++item)
    draws_of_items.push_back(items[plan.packing.piece(static_cast<ItemIndex>(item)).sample_index]);
  items_.push_back(std::move(draws_of_items));
  plan.batches = {};
  plans_.push_back(std::move(plan));
}

PlannedStrategy PlanJoiner::join(const StrategySpec& spec) {
  JoinedPlans run(groups_of_plans(spec, plans_), plans_.front());
  Packing& packing = run.packing();
  counts_.n_samples = std::ssize(draws_.lengths_tokens);
  for (const std::int32_t length : draws_.lengths_tokens) counts_.n_tokens += length;
  packing.counts = counts_;
  if (kept_tokens_.empty() && owns_lengths_) kept_tokens_ = draws_.lengths_tokens;
  if (kept_tokens_.empty()) {
    packing.lengths_tokens = draws_.lengths_tokens;
  } else {
    for (std::size_t draw = 0; draw < kept_tokens_.size(); ++draw)
      packing.pieces.push_back(
          {.sample_index = static_cast<std::uint32_t>(draw), .n_tokens = kept_tokens_[draw]});
    packing.cut_lengths_tokens = std::move(kept_tokens_);
    packing.lengths_tokens = packing.cut_lengths_tokens;
  }
  for (std::size_t w = 0; w < plans_.size(); ++w) {
    run.add(plans_[w], groups_of_plan(spec, plans_[w]), items_[w]);
    if (w > 0) plans_[w] = {};  // its memory
  }
  RunParts parts{.epochs = {}, .windows = std::move(windows_), .moves = {}};
  if (n_moves_ > 0) {
    moves_.mean_move_iterations /= static_cast<double>(n_moves_);
    parts.moves = moves_;
  }
  PlannedStrategy plan = run.finish(scenario_, spec, std::move(parts));
  std::vector<char> is_packed(draws_.lengths_tokens.size(), 0);
  std::int64_t n_packed = 0;
  for (const PackSet& packs : plan.packing.groups) {
    for (const ItemIndex item : packs.items) {
      if (is_packed[item]++ != 0) throw std::logic_error(fmt::format("draw {} is in two packs", item));
      ++n_packed;
    }
  }
  const std::int64_t n_left_out = counts_.dropped_samples + counts_.empty_samples;
  if (n_packed + n_left_out != counts_.n_samples) {
    throw std::logic_error(
        fmt::format("{} draws: {} are in packs and {} left out", counts_.n_samples, n_packed, n_left_out));
  }
  return plan;
}

}  // namespace packsim
