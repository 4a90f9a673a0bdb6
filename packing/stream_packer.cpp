#include "packing/stream_packer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/pack.hpp"
#include "packing/refusals/offenders.hpp"
#include "packing/refusals/refuse.hpp"

namespace packsim {
namespace {

// A position in a window has 32 bits.
constexpr std::int64_t kMostWindowSamples = (std::int64_t{1} << 32) - 1;

// Why a strategy cannot pack window after window.
std::string_view what_is_in_the_way(const Strategy& strategy) {
  if (strategy.forms_iterations()) return "which forms whole iterations";
  if (strategy.pack_groups != nullptr) return "which takes several capacities";
  if (strategy.layout == Layout::rows) return "whose samples are rows of their own";
  if (strategy.cuts_samples) return "which cuts samples";
  return "which has windows of its own";
}

void check_setting(const StreamSetting& setting) {
  const Strategy* strategy = find_strategy(setting.strategy);
  if (strategy != nullptr && !can_pack_a_group(*strategy)) {
    refuse("strategy: expected one that packs whole samples into one row, got \"" +
           std::string(setting.strategy) + "\", " + std::string(what_is_in_the_way(*strategy)));
  }
  check_request(
      setting.strategy,
      {.lengths_tokens = {}, .capacities_tokens = {setting.capacity_tokens}, .options = setting.options});
  if (setting.window_samples < 1 || setting.window_samples > kMostWindowSamples) {
    refuse("window_samples: expected 1.." + std::to_string(kMostWindowSamples) + ", got " +
           std::to_string(setting.window_samples));
  }
  if (setting.over_long == OverLong::split || setting.over_long == OverLong::own_pack) {
    refuse("over_long: expected error, drop or truncate for a stream, got \"" +
           std::string(policy_name(kOverLongNames, setting.over_long)) + "\"");
  }
  if (!(setting.carry_below_fraction >= 0 && setting.carry_below_fraction <= 1)) {
    refuse("carry_below_fraction: expected 0..1, got " + std::to_string(setting.carry_below_fraction));
  }
  if (setting.most_carries < 0)
    refuse("most_carries: expected >= 0, got " + std::to_string(setting.most_carries));
}

// The samples that every count leaves over: taken, but neither left out nor packed.
std::int64_t held_by(const StreamCounts& counts) {
  return counts.n_samples - counts.dropped_samples - counts.empty_samples - counts.packed_samples;
}

std::int64_t held_tokens_by(const StreamCounts& counts) {
  return counts.n_tokens - counts.dropped_tokens - counts.truncated_tokens - counts.packed_tokens;
}

std::int64_t tokens_of(std::span<const HeldSample> held) {
  std::int64_t tokens = 0;
  for (const HeldSample& sample : held) tokens += sample.length_tokens;
  return tokens;
}

void check_state(const StreamState& state, const StreamSetting& setting) {
  if (std::cmp_greater_equal(state.held.size(), setting.window_samples)) {
    refuse("state.held: expected fewer samples than window_samples " +
           std::to_string(setting.window_samples) + ", got " + std::to_string(state.held.size()));
  }
  for (std::size_t i = 0; i < state.held.size(); ++i) {
    const HeldSample& sample = state.held[i];
    const std::string place = "state.held[" + std::to_string(i) + "]";
    const std::uint64_t least = i == 0 ? 0 : state.held[i - 1].sample_index + 1;
    if (sample.sample_index < least || sample.sample_index >= state.position) {
      refuse(place + ".sample_index: expected at least " + std::to_string(least) + " and below position " +
             std::to_string(state.position) + ", got " + std::to_string(sample.sample_index));
    }
    if (sample.length_tokens < 0 || sample.length_tokens > setting.capacity_tokens) {
      refuse(place + ".length_tokens: expected 0.." + std::to_string(setting.capacity_tokens) + ", got " +
             std::to_string(sample.length_tokens));
    }
    if (sample.n_carries < 0 || sample.n_carries > setting.most_carries) {
      refuse(place + ".n_carries: expected 0.." + std::to_string(setting.most_carries) + ", got " +
             std::to_string(sample.n_carries));
    }
  }
  const StreamCounts& counts = state.counts;
  if (std::cmp_not_equal(counts.n_samples, state.position) ||
      std::cmp_not_equal(held_by(counts), state.held.size()) ||
      held_tokens_by(counts) != tokens_of(state.held)) {
    refuse("state.counts: expected every sample and token of " + std::to_string(state.position) +
           " samples to be packed, left out, or one of " + std::to_string(state.held.size()) +
           " that are held, got " + std::to_string(counts.n_samples) + " samples, of which " +
           std::to_string(held_by(counts)) + " are neither");
  }
}

// The packs of a window that wait for the next one, by pack.
std::vector<bool> carried_packs(const PackSet& packs, std::span<const HeldSample> held,
                                std::int64_t carry_below_tokens, const StreamSetting& setting) {
  std::vector<std::pair<std::int64_t, std::size_t>> candidates;  // tokens, pack
  for (std::size_t p = 0; p < packs.n_packs(); ++p) {
    std::int64_t tokens = 0;
    bool may_wait = true;
    for (const ItemIndex item : packs[p]) {
      tokens += held[item].length_tokens;
      may_wait = may_wait && held[item].n_carries < setting.most_carries;
    }
    if (may_wait && tokens < carry_below_tokens) candidates.emplace_back(tokens, p);
  }
  // Emptier packs gain most from company; of packs that are equally full the first one is carried.
  std::ranges::sort(candidates);
  // Half of a window is new at least: the stream gets on, and no sample is packed more than twice on average.
  std::int64_t room_samples = setting.window_samples / 2;
  std::vector<bool> is_carried(packs.n_packs(), false);
  for (const auto& [tokens, p] : candidates) {
    const auto n_samples = static_cast<std::int64_t>(packs[p].size());
    if (n_samples > room_samples) continue;
    room_samples -= n_samples;
    is_carried[p] = true;
  }
  return is_carried;
}

}  // namespace

StreamPacker::StreamPacker(const StreamSetting& setting, StreamState state)
    : setting_(setting), carry_below_tokens_(0), state_(std::move(state)) {
  check_setting(setting_);
  check_state(state_, setting_);
  setting_.strategy = find_strategy(setting_.strategy)->name;  // which lives as long as the program
  carry_below_tokens_ = static_cast<std::int64_t>(
      std::ceil(setting_.carry_below_fraction * static_cast<double>(setting_.capacity_tokens)));
}

std::int64_t StreamPacker::room_samples() const {
  return setting_.window_samples - static_cast<std::int64_t>(state_.held.size());
}

StreamPacks StreamPacker::push(std::span<const std::int32_t> lengths_tokens) {
  check_lengths(lengths_tokens);
  StreamPacks packs;
  for (const std::int32_t length_tokens : lengths_tokens) {
    take(length_tokens);
    if (room_samples() == 0) pack_window(false, packs);
  }
  return packs;
}

StreamPacks StreamPacker::finish() {
  StreamPacks packs;
  if (!state_.held.empty()) pack_window(true, packs);
  return packs;
}

void StreamPacker::check_lengths(std::span<const std::int32_t> lengths_tokens) const {
  Offenders negative;
  Offenders over_long;
  Offenders empty;
  std::uint64_t sample = state_.position;
  for (const std::int32_t length : lengths_tokens) {
    if (length < 0) negative.add(sample, length);
    if (length > setting_.capacity_tokens) over_long.add(sample, length);
    if (length == 0) empty.add(sample, length);
    ++sample;
  }
  negative.refuse_if_any("lengths of at least 0");
  if (setting_.over_long == OverLong::error) {
    over_long.refuse_if_any("lengths of at most " + std::to_string(setting_.capacity_tokens) +
                            " (or another over_long policy)");
  }
  if (setting_.empty == Empty::error) empty.refuse_if_any("lengths of at least 1 (or another empty policy)");
}

void StreamPacker::take(std::int32_t length_tokens) {
  StreamCounts& counts = state_.counts;
  const std::uint64_t sample = state_.position++;
  ++counts.n_samples;
  counts.n_tokens += length_tokens;
  if (length_tokens == 0 && setting_.empty == Empty::drop) {
    ++counts.empty_samples;
    return;
  }
  if (length_tokens > setting_.capacity_tokens) {
    if (setting_.over_long == OverLong::drop) {
      ++counts.dropped_samples;
      counts.dropped_tokens += length_tokens;
      return;
    }
    ++counts.truncated_samples;
    counts.truncated_tokens += length_tokens - setting_.capacity_tokens;
    length_tokens = static_cast<std::int32_t>(setting_.capacity_tokens);
  }
  state_.held.push_back({.sample_index = sample, .length_tokens = length_tokens});
}

void StreamPacker::pack_window(bool is_last, StreamPacks& packs) {
  std::vector<HeldSample>& held = state_.held;
  std::vector<std::int32_t> lengths_tokens(held.size());
  std::ranges::transform(held, lengths_tokens.begin(), &HeldSample::length_tokens);
  // pack() checks that every sample of the window is in one pack, none over the capacity.
  const Packing packing = pack(setting_.strategy, {.lengths_tokens = lengths_tokens,
                                                   .capacities_tokens = {setting_.capacity_tokens},
                                                   .empty = Empty::keep,
                                                   .options = setting_.options});
  const PackSet& window = packing.groups[0];
  const std::vector<bool> is_carried =
      carried_packs(window, held, is_last ? 0 : carry_below_tokens_, setting_);

  StreamCounts& counts = state_.counts;
  std::vector<ItemIndex> carried;
  for (std::size_t p = 0; p < window.n_packs(); ++p) {
    if (is_carried[p]) {
      carried.insert(carried.end(), window[p].begin(), window[p].end());
      continue;
    }
    ++counts.n_packs;
    for (const ItemIndex item : window[p]) {
      const HeldSample& sample = held[item];
      packs.samples.push_back(sample.sample_index);
      ++counts.packed_samples;
      counts.packed_tokens += sample.length_tokens;
      const auto delay_samples = static_cast<std::int64_t>(state_.position - 1 - sample.sample_index);
      counts.longest_delay_samples = std::max(counts.longest_delay_samples, delay_samples);
      counts.total_delay_samples += delay_samples;
    }
    packs.offsets.push_back(packs.samples.size());
  }
  // Stream order gives ties of the next window to the oldest.
  std::ranges::sort(carried);
  std::vector<HeldSample> next;
  for (const ItemIndex item : carried) {
    HeldSample sample = held[item];
    if (sample.n_carries++ == 0) ++counts.carried_samples;
    next.push_back(sample);
  }
  counts.n_carries += static_cast<std::int64_t>(next.size());
  counts.most_carried_samples = std::max(counts.most_carried_samples, static_cast<std::int64_t>(next.size()));
  held = std::move(next);
  ++state_.n_windows;
  check_books();
}

void StreamPacker::check_books() const {
  const StreamCounts& counts = state_.counts;
  const auto n_held = static_cast<std::int64_t>(state_.held.size());
  if (held_by(counts) != n_held || held_tokens_by(counts) != tokens_of(state_.held)) {
    throw std::logic_error("stream packer: " + std::to_string(held_by(counts)) +
                           " samples are in no pack, expected the " + std::to_string(n_held) +
                           " that are held");
  }
  if (n_held >= setting_.window_samples) {
    throw std::logic_error("stream packer: holds " + std::to_string(n_held) +
                           " samples, expected fewer than " + std::to_string(setting_.window_samples));
  }
}

}  // namespace packsim
