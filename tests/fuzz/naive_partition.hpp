#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "packing/c_api/packsim.h"
#include "tests/fuzz/expect.hpp"

namespace packsim::testing {

/// The tokens of each sample that packs hold, ascending, as the first and the one behind the last.
using HeldTokens = std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>>;

inline HeldTokens held_tokens(const packsim_packing& packing, std::size_t n_samples,
                              const packsim_pack_request& request) {
  const std::string_view strategy = request.strategy;
  const bool in_rows = strategy == "none" || strategy == "sorted";
  HeldTokens held(n_samples);
  for (std::int64_t g = 0; g < packsim_packing_n_groups(&packing); ++g) {
    const packsim_group& group = *packsim_packing_group(&packing, g);
    expect(group.capacity_tokens == request.capacities_tokens[g], "groups have the capacities asked for");
    expect(group.offsets[0] == 0 && group.offsets[group.n_packs] == group.n_items, "packs hold all items");
    for (std::int64_t p = 0; p < group.n_packs; ++p) {
      std::int64_t tokens = 0;
      expect(group.offsets[p] < group.offsets[p + 1], "a pack has items");
      for (std::uint32_t i = group.offsets[p]; i < group.offsets[p + 1]; ++i) {
        packsim_piece piece;
        expect(packsim_packing_piece(&packing, group.items[i], &piece) == PACKSIM_OK, "items exist");
        expect(piece.sample_index < n_samples, "samples exist");
        held[piece.sample_index].emplace_back(piece.start_token,
                                              piece.start_token + std::int64_t{piece.n_tokens});
        tokens += piece.n_tokens;
      }
      const bool is_alone = group.offsets[p + 1] - group.offsets[p] == 1;
      expect(tokens <= group.capacity_tokens || in_rows ||
                 (is_alone && std::string_view(request.over_long) == "own_pack"),
             "a pack fits its capacity");
    }
  }
  for (auto& of_sample : held) std::ranges::sort(of_sample);
  return held;
}

/// Every sample is whole in one pack, in pieces that follow one another from its first token on, or left out
/// as the counts say.
inline void check_samples(const packsim_packing& packing, const HeldTokens& held,
                          const std::vector<std::int32_t>& lengths, const packsim_pack_request& request) {
  packsim_pack_counts counts = {};
  counts.n_samples = std::ssize(lengths);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    counts.n_tokens += lengths[s];
    std::int64_t end = 0;
    expect(std::ranges::adjacent_find(held[s]) == held[s].end(), "a piece is in one pack");
    for (const auto& [first, behind] : held[s]) {
      expect(first == end, "a token is in one pack");
      end = behind;
    }
    const bool is_left_out = held[s].empty();
    if (is_left_out && lengths[s] == 0) ++counts.empty_samples;
    if (is_left_out && lengths[s] > 0) ++counts.dropped_samples;
    if (is_left_out) counts.dropped_tokens += lengths[s];
    if (!is_left_out && end < lengths[s]) ++counts.truncated_samples;
    if (!is_left_out) counts.truncated_tokens += lengths[s] - end;
    if (held[s].size() > 1) ++counts.split_samples;
    expect(end <= lengths[s], "a sample has no more tokens than it has");
  }
  const packsim_pack_counts& said = *packsim_packing_counts(&packing);
  const std::string_view over_long = request.over_long;
  expect(said.n_samples == counts.n_samples && said.n_tokens == counts.n_tokens, "counts of the data");
  expect(said.dropped_samples == counts.dropped_samples && said.dropped_tokens == counts.dropped_tokens,
         "dropped samples");
  expect(counts.dropped_samples == 0 || over_long == "drop", "samples are dropped where that was asked for");
  expect(said.empty_samples == counts.empty_samples, "empty samples");
  expect(
      said.truncated_samples == counts.truncated_samples && said.truncated_tokens == counts.truncated_tokens,
      "truncated samples");
  expect(said.split_samples == counts.split_samples, "split samples");
}

/// Placed packs exist, and a GPU has one pack in a round.
inline void check_iterations(const packsim_packing& packing) {
  for (std::int64_t i = 0; i < packsim_packing_n_iterations(&packing); ++i) {
    const packsim_iteration& iteration = *packsim_packing_iteration(&packing, i);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;  // round, GPU
    for (std::int64_t p = 0; p < iteration.n_placed; ++p) {
      const packsim_placed_pack& placed = iteration.placed[p];
      expect(placed.group < packsim_packing_n_groups(&packing), "groups exist");
      expect(placed.pack < packsim_packing_group(&packing, placed.group)->n_packs, "packs exist");
      if (placed.n_gpus > 4096) continue;  // counting them takes long
      for (std::uint32_t gpu = 0; gpu < placed.n_gpus; ++gpu)
        taken.emplace_back(placed.round, placed.first_gpu + gpu);
    }
    std::ranges::sort(taken);
    expect(std::ranges::adjacent_find(taken) == taken.end(), "a GPU has one pack in a round");
  }
}

inline void check_partition(const packsim_packing& packing, const std::vector<std::int32_t>& lengths,
                            const packsim_pack_request& request) {
  check_samples(packing, held_tokens(packing, lengths.size(), request), lengths, request);
  check_iterations(packing);
}

}  // namespace packsim::testing
