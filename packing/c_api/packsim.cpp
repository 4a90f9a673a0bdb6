#include "packing/c_api/packsim.h"

#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "packing/c_api/request.hpp"
#include "packing/c_api/status.hpp"
#include "packing/pack.hpp"

static_assert(std::string_view(PACKSIM_VERSION) == PACKSIM_PROJECT_VERSION,
              "the versions of c_api/packsim.h and CMakeLists.txt differ");

struct packsim_packing {
  std::vector<std::int32_t> lengths_tokens;  // items of samples that are not cut speak of them
  packsim::Packing core;
  packsim_pack_counts counts = {};
  std::vector<packsim_group> groups;
  std::vector<packsim_placed_pack> placed;
  std::vector<packsim_iteration> iterations;
};

namespace packsim::c_api {
namespace {

template <typename T>
T& given(const char* argument, T* pointer) {
  if (pointer == nullptr) refuse(std::string(argument) + ": expected a pointer, got NULL");
  return *pointer;
}

std::size_t checked_index(const char* argument, std::int64_t index, std::size_t n) {
  if (index >= 0 && static_cast<std::uint64_t>(index) < n) return static_cast<std::size_t>(index);
  refuse(std::string(argument) + ": expected at least 0 and below " + std::to_string(n) + ", got " +
         std::to_string(index));
}

// What `find` returns, NULL where it throws.
template <typename T, typename Find>
const T* found(Find&& find) noexcept {
  const T* result = nullptr;
  guarded([&] { result = &find(); });
  return result;
}

packsim_strategy_kind kind_of(const Strategy& strategy) {
  if (strategy.needs_prices) return PACKSIM_NEEDS_PRICES;
  return strategy.forms_iterations() ? PACKSIM_FORMS_ITERATIONS : PACKSIM_FORMS_PACKS;
}

packsim_option_type type_of(const Option& option) {
  switch (option.type) {
    case OptionType::boolean:
      return PACKSIM_BOOLEAN;
    case OptionType::integer:
      return PACKSIM_INTEGER;
    case OptionType::number:
      return PACKSIM_SECONDS;
    case OptionType::word:
      break;
  }
  return PACKSIM_WORD;
}

const std::vector<packsim_strategy_info>& strategy_infos() {
  static const std::vector<packsim_strategy_info> infos = [] {
    std::vector<packsim_strategy_info> rows;
    // The table's texts are literals, so they end in a zero.
    for (const Strategy& row : strategies())
      rows.push_back({row.name.data(), row.summary.data(), kind_of(row)});
    return rows;
  }();
  return infos;
}

// What packsim_option_info points to.
struct OptionTexts {
  std::string default_value;
  std::string expected;
};

// Describes the options of every strategy, in the order of the table.
const std::vector<std::vector<packsim_option_info>>& option_infos() {
  static std::deque<OptionTexts> texts;  // does not move what it holds
  static const std::vector<std::vector<packsim_option_info>> infos = [] {
    std::vector<std::vector<packsim_option_info>> all;
    for (const Strategy& strategy : strategies()) {
      all.emplace_back();
      for (const Option* option : strategy.options) {
        const OptionTexts& of = texts.emplace_back(text_of(default_value(*option)), expected_of(*option));
        all.back().push_back({option->name.data(), option->text.data(), type_of(*option),
                              of.default_value.c_str(), of.expected.c_str()});
      }
    }
    return all;
  }();
  return infos;
}

packsim_pack_counts counts_of(const PackCounts& counts) {
  return {.n_samples = counts.n_samples,
          .n_tokens = counts.n_tokens,
          .dropped_samples = counts.dropped_samples,
          .dropped_tokens = counts.dropped_tokens,
          .empty_samples = counts.empty_samples,
          .truncated_samples = counts.truncated_samples,
          .truncated_tokens = counts.truncated_tokens,
          .split_samples = counts.split_samples,
          .own_pack_samples = counts.own_pack_samples};
}

std::vector<packsim_group> groups_of(const Packing& packing) {
  std::vector<packsim_group> groups;
  for (std::size_t group = 0; group < packing.groups.size(); ++group) {
    const PackSet& packs = packing.groups[group];
    groups.push_back({.capacity_tokens = packing.capacities_tokens[group],
                      .n_packs = static_cast<std::int64_t>(packs.n_packs()),
                      .n_items = static_cast<std::int64_t>(packs.items.size()),
                      .items = packs.items.data(),
                      .offsets = packs.offsets.data()});
  }
  return groups;
}

std::vector<packsim_placed_pack> placed_of(const Packing& packing, const packsim_pack_request& request) {
  std::vector<packsim_placed_pack> all;
  all.reserve(packing.planned.placed.size());
  for (const PlacedPack& placed : packing.planned.placed) {
    all.push_back({.group = placed.group,
                   .pack = placed.pack,
                   .first_gpu = placed.first_gpu,
                   .n_gpus = gpus_of_pack(request, placed.group),
                   .round = placed.round,
                   .after_barrier = placed.after_barrier});
  }
  return all;
}

std::vector<packsim_iteration> iterations_of(const Packing& packing,
                                             const std::vector<packsim_placed_pack>& placed) {
  std::vector<packsim_iteration> iterations;
  iterations.reserve(packing.planned.iterations.size());
  for (const Iteration& iteration : packing.planned.iterations)
    iterations.push_back({iteration.n_placed, placed.data() + iteration.first_placed});
  return iterations;
}

std::vector<std::int32_t> copied_lengths(const std::int32_t* lengths_tokens, std::int64_t n_samples) {
  constexpr std::int64_t kMostSamples = std::numeric_limits<std::uint32_t>::max();
  if (n_samples < 0 || n_samples > kMostSamples) {
    refuse("n_samples: expected 0.." + std::to_string(kMostSamples) + ", got " + std::to_string(n_samples));
  }
  if (n_samples == 0) return {};
  const std::int32_t* first = &given("lengths_tokens", lengths_tokens);
  return {first, first + n_samples};
}

void pack_into(packsim_packing& result, const std::int32_t* lengths_tokens, std::int64_t n_samples,
               const packsim_pack_request& given_request) {
  const packsim_pack_request request = known_request(given_request);
  result.lengths_tokens = copied_lengths(lengths_tokens, n_samples);
  result.core = pack_as_requested(result.lengths_tokens, request);
  result.counts = counts_of(result.core.counts);
  result.groups = groups_of(result.core);
  result.placed = placed_of(result.core, request);
  result.iterations = iterations_of(result.core, result.placed);
}

}  // namespace
}  // namespace packsim::c_api

using namespace packsim::c_api;

const char* packsim_version(void) {
  return PACKSIM_VERSION;
}

const char* packsim_last_error(void) {
  return last_error();
}

int64_t packsim_n_strategies(void) {
  return static_cast<int64_t>(packsim::strategies().size());
}

const packsim_strategy_info* packsim_strategy(int64_t index) {
  return found<packsim_strategy_info>([&]() -> const packsim_strategy_info& {
    const auto& infos = strategy_infos();
    return infos[checked_index("index", index, infos.size())];
  });
}

int64_t packsim_strategy_n_options(int64_t index) {
  const auto& infos = option_infos();
  const bool is_known = index >= 0 && index < static_cast<int64_t>(infos.size());
  return is_known ? static_cast<int64_t>(infos[static_cast<std::size_t>(index)].size()) : 0;
}

const packsim_option_info* packsim_strategy_option(int64_t index, int64_t option) {
  return found<packsim_option_info>([&]() -> const packsim_option_info& {
    const auto& infos = option_infos();
    const auto& of_strategy = infos[checked_index("index", index, infos.size())];
    return of_strategy[checked_index("option", option, of_strategy.size())];
  });
}

packsim_status packsim_pack_request_init(packsim_pack_request* request, size_t struct_size) {
  return guarded([&] {
    packsim_pack_request& to = given("request", request);
    check_struct_size(struct_size);
    packsim_pack_request defaults = default_request();
    defaults.struct_size = struct_size;
    std::memcpy(&to, &defaults, struct_size);
  });
}

packsim_status packsim_pack(const int32_t* lengths_tokens, int64_t n_samples,
                            const packsim_pack_request* request, packsim_packing** packing) {
  return guarded([&] {
    packsim_packing*& to = given("packing", packing);
    to = nullptr;
    auto result = std::make_unique<packsim_packing>();
    pack_into(*result, lengths_tokens, n_samples, given("request", request));
    to = result.release();
  });
}

void packsim_packing_free(packsim_packing* packing) {
  delete packing;
}

const packsim_pack_counts* packsim_packing_counts(const packsim_packing* packing) {
  return found<packsim_pack_counts>([&]() -> const auto& { return given("packing", packing).counts; });
}

int64_t packsim_packing_n_groups(const packsim_packing* packing) {
  return packing == nullptr ? 0 : static_cast<int64_t>(packing->groups.size());
}

const packsim_group* packsim_packing_group(const packsim_packing* packing, int64_t group) {
  return found<packsim_group>([&]() -> const auto& {
    const auto& groups = given("packing", packing).groups;
    return groups[checked_index("group", group, groups.size())];
  });
}

int64_t packsim_packing_n_items(const packsim_packing* packing) {
  return packing == nullptr ? 0 : static_cast<int64_t>(packing->core.lengths_tokens.size());
}

packsim_status packsim_packing_piece(const packsim_packing* packing, int64_t item, packsim_piece* piece) {
  return guarded([&] {
    const packsim::Packing& core = given("packing", packing).core;
    packsim_piece& to = given("piece", piece);
    const auto index =
        static_cast<packsim::ItemIndex>(checked_index("item", item, core.lengths_tokens.size()));
    const packsim::Piece part = core.piece(index);
    to = {.sample_index = part.sample_index, .start_token = part.start_token, .n_tokens = part.n_tokens};
  });
}

int64_t packsim_packing_n_iterations(const packsim_packing* packing) {
  return packing == nullptr ? 0 : static_cast<int64_t>(packing->iterations.size());
}

const packsim_iteration* packsim_packing_iteration(const packsim_packing* packing, int64_t iteration) {
  return found<packsim_iteration>([&]() -> const auto& {
    const auto& iterations = given("packing", packing).iterations;
    return iterations[checked_index("iteration", iteration, iterations.size())];
  });
}
