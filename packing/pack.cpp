#include "packing/pack.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "packing/options/shared_options.hpp"
#include "packing/pack_together.hpp"
#include "packing/refusals/offenders.hpp"
#include "packing/refusals/refuse.hpp"

namespace packsim {
namespace {

// Checks the setting of a strategy that forms iterations.
void check_setting(const Strategy& strategy, const PackRequest& request) {
  const std::string name(strategy.name);
  if (request.setting == nullptr)
    refuse("setting: expected GPUs and tokens_per_iteration for " + name + ", got none");
  const BatchSetting& setting = *request.setting;
  if (setting.n_gpus < 1) refuse("n_gpus: expected >= 1, got " + std::to_string(setting.n_gpus));
  if (setting.tokens_per_iteration < 1) {
    refuse("tokens_per_iteration: expected >= 1 for " + name + ", got " +
           std::to_string(setting.tokens_per_iteration));
  }
  if (strategy.chooses_groups && request.over_long == OverLong::own_pack) {
    refuse("over_long: expected error, drop, truncate or split for " + name + ", got \"own_pack\"");
  }
  if (request.window_samples > 0) {
    refuse("window_samples: expected 0 for " + name + ", whose window is a global batch, got " +
           std::to_string(request.window_samples));
  }
  if (setting.groups.size() != request.capacities_tokens.size()) {
    refuse("setting.groups: expected one for each of " + std::to_string(request.capacities_tokens.size()) +
           " capacities, got " + std::to_string(setting.groups.size()));
  }
  for (std::size_t i = 0; i < setting.groups.size(); ++i) {
    const BatchGroup& group = setting.groups[i];
    if (group.capacity_tokens != request.capacities_tokens[i]) {
      refuse("setting.groups[" + std::to_string(i) + "].capacity_tokens: expected " +
             std::to_string(request.capacities_tokens[i]) + ", got " + std::to_string(group.capacity_tokens));
    }
    if (group.gpus_per_pack < 1 || setting.n_gpus % group.gpus_per_pack != 0) {
      refuse("GPUs of a pack (sp_degree): expected a divisor of " + std::to_string(setting.n_gpus) +
             " GPUs, got " + std::to_string(group.gpus_per_pack));
    }
  }
}

void check_extra_sizes(const Strategy& strategy, const PackRequest& request) {
  if (request.extra_sizes.empty() && request.extra_capacity == 0) return;
  if (!strategy.holds_two_limits) {
    std::string known;
    for (const Strategy& row : strategies()) {
      if (row.holds_two_limits) known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    refuse("extra_sizes: expected none for " + std::string(strategy.name) + "; " + known + " take them");
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (request.extra_capacity < 1 || request.extra_capacity > kMost) {
    refuse("extra_capacity: expected 1.." + std::to_string(kMost) + ", got " +
           std::to_string(request.extra_capacity));
  }
  if (request.extra_sizes.size() != request.lengths_tokens.size()) {
    refuse("extra_sizes: expected one for each of " + std::to_string(request.lengths_tokens.size()) +
           " samples, got " + std::to_string(request.extra_sizes.size()));
  }
  const bool cuts = request.over_long == OverLong::truncate || request.over_long == OverLong::split;
  if (cuts || request.longest_sample_tokens() < request.capacities_tokens.back())
    refuse(
        "over_long: expected error, drop or own_pack beside extra_sizes, as a part of a sample has no size");
  Offenders wrong;
  for (std::size_t i = 0; i < request.extra_sizes.size(); ++i) {
    if (request.extra_sizes[i] < 0 || request.extra_sizes[i] > request.extra_capacity)
      wrong.add(i, request.extra_sizes[i]);
  }
  wrong.refuse_if_any("sizes of 0.." + std::to_string(request.extra_capacity) + " (extra_capacity)",
                      "extra_sizes");
}

void check_policies(const Strategy& strategy, const PackRequest& request) {
  const auto& capacities = request.capacities_tokens;
  if (capacities.empty()) refuse("capacities_tokens: expected at least one pack length, got none");
  const bool takes_one = strategy.pack != nullptr || (strategy.forms_iterations() && !strategy.mixes_groups);
  if (takes_one && capacities.size() > 1) {
    refuse("capacities_tokens: expected one pack length for " + std::string(strategy.name) + ", got " +
           std::to_string(capacities.size()));
  }
  const std::int64_t more = strategy.forms_iterations() ? 0 : 1;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const std::int64_t least = i == 0 ? 1 : capacities[i - 1] + more;
    if (capacities[i] < least || capacities[i] > kLongestCapacityTokens) {
      refuse("capacities_tokens[" + std::to_string(i) + "]: expected " + std::to_string(least) + ".." +
             std::to_string(kLongestCapacityTokens) + ", got " + std::to_string(capacities[i]));
    }
  }
  if (request.longest_tokens < 0) {
    refuse("longest_tokens: expected >= 0, got " + std::to_string(request.longest_tokens));
  }
  if (request.window_samples < 0) {
    refuse("window_samples: expected >= 0, got " + std::to_string(request.window_samples));
  }
  if (strategy.forms_iterations()) check_setting(strategy, request);
  if (strategy.cuts_samples && request.over_long == OverLong::own_pack) {
    refuse("over_long: expected error, drop, truncate or split for " + std::string(strategy.name) +
           ", which cuts samples anyway, got \"own_pack\"");
  }
  check_options(strategy, request.options);
  check_extra_sizes(strategy, request);
}

void check_lengths(const PackRequest& request, std::int64_t longest_tokens) {
  Offenders negative;
  Offenders over_long;
  Offenders empty;
  for (std::size_t i = 0; i < request.lengths_tokens.size(); ++i) {
    const std::int32_t length = request.lengths_tokens[i];
    if (length < 0) negative.add(i, length);
    if (length > longest_tokens) over_long.add(i, length);
    if (length == 0) empty.add(i, length);
  }
  negative.refuse_if_any("lengths of at least 0");
  if (request.over_long == OverLong::error) {
    over_long.refuse_if_any("lengths of at most " + std::to_string(longest_tokens) +
                            " (or another over_long policy)");
  }
  if (request.empty == Empty::error) empty.refuse_if_any("lengths of at least 1 (or another empty policy)");
}

PackCounts count_samples(const PackRequest& request, std::int64_t longest_tokens) {
  PackCounts counts;
  counts.n_samples = static_cast<std::int64_t>(request.lengths_tokens.size());
  for (const std::int32_t length : request.lengths_tokens) {
    counts.n_tokens += length;
    if (length == 0 && request.empty == Empty::drop) ++counts.empty_samples;
    if (length <= longest_tokens) continue;
    switch (request.over_long) {
      case OverLong::error:
        break;
      case OverLong::drop:
        ++counts.dropped_samples;
        counts.dropped_tokens += length;
        break;
      case OverLong::truncate:
        ++counts.truncated_samples;
        counts.truncated_tokens += length - longest_tokens;
        break;
      case OverLong::split:
        ++counts.split_samples;
        break;
      case OverLong::own_pack:
        ++counts.own_pack_samples;
        break;
    }
  }
  return counts;
}

// Items made of pieces of samples, and where each packing window ends in them.
struct CutItems {
  std::vector<Piece> pieces;
  std::vector<std::size_t> window_ends;
  std::int64_t split_samples = 0;
};

// Over-long samples are cut short or into pieces here. For strategies that cut wherever a pack ends, every
// sample of a window is cut at multiples of the capacity in the row that all of them form.
CutItems cut(const Strategy& strategy, const PackRequest& request) {
  const auto lengths = request.lengths_tokens;
  const std::int64_t capacity = request.capacities_tokens.back();
  const std::int64_t longest = request.longest_sample_tokens();
  const std::size_t window =
      request.window_samples > 0 ? static_cast<std::size_t>(request.window_samples) : lengths.size();
  CutItems result;
  std::int64_t row_tokens = 0;  // in the open pack of a strategy that cuts anywhere
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    std::int64_t left = lengths[sample];
    const bool over_long = left > longest;
    if (over_long && request.over_long == OverLong::truncate) left = longest;
    const bool whole = !strategy.cuts_samples && !(over_long && request.over_long == OverLong::split);
    const bool kept =
        !(over_long && request.over_long == OverLong::drop) && !(left == 0 && request.empty == Empty::drop);
    std::int64_t start = 0;
    std::int64_t n_pieces = 0;
    while (kept && (n_pieces == 0 || left > 0)) {
      const std::int64_t room = strategy.cuts_samples ? std::min(capacity - row_tokens, longest) : longest;
      const std::int64_t n = whole ? left : std::min(left, room);
      result.pieces.push_back({static_cast<std::uint32_t>(sample), static_cast<std::int32_t>(start),
                               static_cast<std::int32_t>(n)});
      row_tokens = (row_tokens + n) % capacity;
      start += n;
      left -= n;
      ++n_pieces;
    }
    if (n_pieces > 1) ++result.split_samples;
    if ((sample + 1) % window == 0 || sample + 1 == lengths.size()) {
      result.window_ends.push_back(result.pieces.size());
      row_tokens = 0;
    }
  }
  return result;
}

void append(std::vector<PackSet>& all, const std::vector<PackSet>& window, std::size_t first_item) {
  for (std::size_t group = 0; group < window.size(); ++group) {
    PackSet& packs = all[group];
    const auto base = static_cast<std::uint32_t>(packs.items.size());
    for (const ItemIndex item : window[group].items) {
      packs.items.push_back(item + static_cast<ItemIndex>(first_item));
    }
    for (std::size_t p = 1; p < window[group].offsets.size(); ++p) {
      packs.offsets.push_back(base + window[group].offsets[p]);
    }
  }
}

// first_item: of the items that the lengths are of.
PackProblem make_problem(const PackRequest& request, std::span<const std::int32_t> lengths,
                         std::size_t first_item = 0) {
  return {.lengths_tokens = lengths,
          .capacity_tokens = request.capacities_tokens.back(),
          .own_packs = request.over_long == OverLong::own_pack,
          .keep_empty = request.empty == Empty::keep,
          .options = request.options,
          .extra_sizes = request.extra_sizes.empty()
                             ? request.extra_sizes
                             : request.extra_sizes.subspan(first_item, lengths.size()),
          .extra_capacity = static_cast<std::int32_t>(request.extra_capacity)};
}

std::vector<PackSet> pack_window(const Strategy& strategy, const PackRequest& request,
                                 std::span<const std::int32_t> lengths, std::size_t first_item = 0) {
  const PackProblem problem = make_problem(request, lengths, first_item);
  if (strategy.pack_groups != nullptr) return strategy.pack_groups(problem, request.capacities_tokens);
  std::vector<PackSet> packs;
  packs.push_back(strategy.pack(problem));
  return packs;
}

}  // namespace

const Strategy& known_strategy(std::string_view name) {
  if (const Strategy* strategy = find_strategy(name)) return *strategy;
  std::string known;
  for (const Strategy& strategy : strategies())
    known += (known.empty() ? "" : ", ") + std::string(strategy.name);
  refuse("strategy: expected one of " + known + ", got \"" + std::string(name) + "\"");
}

void check_options(const Strategy& strategy, const OptionValues& options) {
  for (const auto& [name, value] : options.all()) {
    if (find_option(name) == nullptr) refuse("options: expected those of strategies, got \"" + name + "\"");
    const Option* option = find_option(strategy, name);
    if (option == nullptr || accepts(*option, value)) continue;
    const bool is_text = std::holds_alternative<std::string>(value);
    const std::string got = is_text ? "\"" + text_of(value) + "\"" : text_of(value);
    refuse(name + ": expected " + expected_of(*option) + ", got " + got);
  }
  if (options[kBatchTokens] && options[kSamplesPerIteration])
    refuse("samples_per_iteration: expected no samples_per_iteration beside batch_tokens");
}

std::size_t Packing::n_packs() const {
  std::size_t n = 0;
  for (const PackSet& group : groups) n += group.n_packs();
  return n;
}

Packing Packing::clone() const {
  Packing copy(*this);
  if (lengths_tokens.data() == cut_lengths_tokens.data()) copy.lengths_tokens = copy.cut_lengths_tokens;
  return copy;
}

Piece Packing::piece(ItemIndex item) const {
  return pieces.empty() ? Piece{item, 0, lengths_tokens[item]} : pieces[item];
}

void check_request(std::string_view strategy_name, const PackRequest& request) {
  check_policies(known_strategy(strategy_name), request);
  check_lengths(request, request.longest_sample_tokens());
  if (!request.group_of.empty()) check_groups(known_strategy(strategy_name), request);
}

Packing pack(std::string_view strategy_name, const PackRequest& request) {
  check_request(strategy_name, request);
  const Strategy& strategy = *find_strategy(strategy_name);
  if (!request.group_of.empty()) return pack_together(strategy, request);
  const std::int64_t longest = request.longest_sample_tokens();

  Packing packing;
  packing.strategy = &strategy;
  packing.capacities_tokens = request.capacities_tokens;
  packing.counts = count_samples(request, longest);
  packing.lengths_tokens = request.lengths_tokens;

  std::vector<std::size_t> window_ends;
  // Packs that are longer than the longest sample would hold samples that are to be dropped.
  const bool drops = packing.counts.dropped_samples > 0 && longest < request.capacities_tokens.back();
  const bool cuts =
      strategy.cuts_samples || drops || packing.counts.truncated_samples + packing.counts.split_samples > 0;
  if (cuts) {
    CutItems items = cut(strategy, request);
    packing.pieces = std::move(items.pieces);
    packing.counts.split_samples = items.split_samples;
    packing.cut_lengths_tokens.resize(packing.pieces.size());
    std::ranges::transform(packing.pieces, packing.cut_lengths_tokens.begin(), &Piece::n_tokens);
    packing.lengths_tokens = packing.cut_lengths_tokens;
    window_ends = std::move(items.window_ends);
  } else {
    const std::size_t n = request.lengths_tokens.size();
    const std::size_t window =
        request.window_samples > 0 ? static_cast<std::size_t>(request.window_samples) : n;
    for (std::size_t end = 0; end < n;) {
      end = std::min(end + window, n);
      window_ends.push_back(end);
    }
  }

  if (strategy.forms_iterations()) {
    BatchPlan plan = strategy.plan_batches(
        {.items = make_problem(request, packing.lengths_tokens), .setting = *request.setting});
    packing.groups = std::move(plan.groups);
    packing.planned = std::move(plan);
  } else if (window_ends.size() <= 1) {
    packing.groups = pack_window(strategy, request, packing.lengths_tokens);
  } else {
    packing.groups.resize(request.capacities_tokens.size());
    std::size_t begin = 0;
    for (const std::size_t end : window_ends) {
      append(packing.groups,
             pack_window(strategy, request, packing.lengths_tokens.subspan(begin, end - begin), begin),
             begin);
      begin = end;
    }
  }
  check_packing(packing, request);
  return packing;
}

}  // namespace packsim
