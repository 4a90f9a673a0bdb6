#include "packing/c_api/request.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "packing/c_api/status.hpp"

namespace packsim::c_api {
namespace {

using Request = packsim_pack_request;

// The header of 0.1.0 has this size. Later ones add fields at the end.
constexpr std::size_t kFirstStructSize =
    offsetof(Request, samples_per_iteration) + sizeof(Request::samples_per_iteration);
static_assert(kFirstStructSize <= sizeof(Request));

struct Range {
  const char* name;
  std::int64_t Request::*field;
  std::int64_t least;
  std::int64_t most;
};

constexpr std::int64_t kMostGroups = 65'535;
constexpr std::int64_t kMostOptions = 1000;

constexpr std::array<Range, 7> kRanges = {{
    {"n_capacities", &Request::n_capacities, 1, kMostGroups},
    {"longest_tokens", &Request::longest_tokens, 0, kLongestCapacityTokens},
    {"window_samples", &Request::window_samples, -1, kMostSamples},
    {"n_gpus", &Request::n_gpus, 0, kMostGpus},
    {"tokens_per_iteration", &Request::tokens_per_iteration, 0, kMostTokensPerIteration},
    {"n_sp_degrees", &Request::n_sp_degrees, 0, kMostGroups},
    {"n_options", &Request::n_options, 0, kMostOptions},
}};

// Options that the first header had fields for; later ones come in `options`. A field that is no boolean has
// the option's own value.
struct OptionField {
  std::string_view option;
  std::variant<std::uint32_t Request::*, std::int32_t Request::*, std::int64_t Request::*,
               const char * Request::*>
      field;
};

constexpr std::array<OptionField, 15> kOptionFields = {{
    {"seed", &Request::seed},
    {"shuffle", &Request::shuffle},
    {"greedy_fill", &Request::greedy_fill},
    {"padded_batches", &Request::padded_batches},
    {"packer", &Request::packer},
    {"rounds", &Request::rounds},
    {"threshold_tokens", &Request::threshold_tokens},
    {"max_samples_per_pack", &Request::max_samples_per_pack},
    {"batch_samples", &Request::batch_samples},
    {"linear_weight_tokens", &Request::linear_weight_tokens},
    {"outlier_queues", &Request::outlier_queues},
    {"outlier_threshold_tokens", &Request::outlier_threshold_tokens},
    {"micro_batch_tokens", &Request::micro_batch_tokens},
    {"batch_tokens", &Request::batch_tokens},
    {"samples_per_iteration", &Request::samples_per_iteration},
}};

std::string_view text(const char* field, const char* value) {
  if (value == nullptr) refuse(std::string(field) + ": expected a name, got NULL");
  return value;
}

template <typename Enum, std::size_t N>
Enum policy(const char* field, const std::array<PolicyName<Enum>, N>& names, const char* given) {
  const std::string_view name = text(field, given);
  if (const auto value = policy_value(names, name)) return *value;
  std::string known;
  for (const PolicyName<Enum>& row : names) known += (known.empty() ? "" : ", ") + std::string(row.name);
  refuse(std::string(field) + ": expected one of " + known + ", got \"" + std::string(name) + "\"");
}

template <typename T>
std::span<const T> array(const char* field, const T* values, std::int64_t n) {
  if (values == nullptr && n > 0)
    refuse(std::string(field) + ": expected " + std::to_string(n) + " values, got NULL");
  return {values, static_cast<std::size_t>(n)};
}

OptionValue value_of(const Request& request, const OptionField& field) {
  return std::visit(
      [&](auto member) -> OptionValue {
        using Value = std::remove_cvref_t<decltype(request.*member)>;
        if constexpr (std::is_same_v<Value, const char*>) {
          return std::string(text(field.option.data(), request.*member));
        } else if constexpr (std::is_same_v<Value, std::int32_t>) {
          return request.*member != 0;
        } else {
          return std::int64_t{request.*member};
        }
      },
      field.field);
}

void set_default(Request& request, const OptionField& field) {
  const Option& option = *find_option(field.option);
  std::visit(
      [&](auto member) {
        using Value = std::remove_cvref_t<decltype(request.*member)>;
        if constexpr (std::is_same_v<Value, const char*>) {
          request.*member = option.default_word.data();  // of a literal, so it ends in a zero
        } else if constexpr (std::is_same_v<Value, std::int32_t>) {
          request.*member = option.default_boolean;
        } else {
          request.*member = static_cast<Value>(option.default_integer);
        }
      },
      field.field);
}

[[noreturn]] void refuse_option(const Strategy& strategy, std::string_view name) {
  std::string read;
  for (const Option* option : strategy.options)
    read += (read.empty() ? "" : ", ") + std::string(option->name);
  refuse("options: expected those that " + std::string(strategy.name) +
         " reads, which are: " + (read.empty() ? "none" : read) + "; got \"" + std::string(name) + "\"");
}

// A strategy leaves the fields alone that it does not read; what is named in `options` must be one that it
// reads, and goes before its field.
OptionValues options_of(const Request& request, const Strategy& strategy) {
  OptionValues options;
  for (const OptionField& field : kOptionFields) {
    const Option& option = *find_option(field.option);
    const OptionValue value = value_of(request, field);
    // Names are for strategies that read them to judge.
    if (option.type != OptionType::word && !accepts(option, value))
      refuse(std::string(option.name) + ": expected " + expected_of(option) + ", got " + text_of(value));
    options.set(field.option, value);
  }
  for (const packsim_option& given : array("options", request.options, request.n_options)) {
    const std::string_view name = text("options: name", given.name);
    const Option* option = find_option(strategy, name);
    if (option == nullptr) refuse_option(strategy, name);
    const std::string_view asked = text(option->name.data(), given.value);
    const std::optional<OptionValue> value = value_of_text(*option, asked);
    if (!value) {
      refuse(std::string(name) + ": expected " + expected_of(*option) + ", got \"" + std::string(asked) +
             "\"");
    }
    options.set(name, *value);
  }
  check_options(strategy, options);
  return options;
}

// The setting of a strategy that forms iterations, without prices.
BatchSetting setting_of(const Request& request, std::span<const std::int64_t> capacities_tokens) {
  const auto degrees = array("sp_degrees", request.sp_degrees, request.n_sp_degrees);
  if (degrees.size() > 1 && degrees.size() != capacities_tokens.size()) {
    refuse("n_sp_degrees: expected 0, 1, or one for each of " + std::to_string(capacities_tokens.size()) +
           " capacities, got " + std::to_string(degrees.size()));
  }
  for (const std::int32_t degree : degrees) {
    if (degree < 1 || degree > kMostGpus)
      refuse("sp_degrees: expected 1.." + std::to_string(kMostGpus) + ", got " + std::to_string(degree));
  }
  BatchSetting setting;
  const std::int32_t widest = degrees.empty() ? 1 : *std::ranges::max_element(degrees);
  setting.n_gpus = request.n_gpus > 0 ? static_cast<int>(request.n_gpus) : widest;
  setting.tokens_per_iteration = request.tokens_per_iteration;
  for (std::size_t group = 0; group < capacities_tokens.size(); ++group) {
    setting.groups.push_back({.capacity_tokens = capacities_tokens[group],
                              .gpus_per_pack = static_cast<int>(gpus_of_pack(request, group))});
  }
  return setting;
}

}  // namespace

Request default_request() {
  const PackRequest core;
  Request request = {};
  request.struct_size = sizeof request;
  request.over_long = policy_name(kOverLongNames, core.over_long).data();
  request.empty = policy_name(kEmptyNames, core.empty).data();
  request.window_samples = -1;
  for (const OptionField& field : kOptionFields) set_default(request, field);
  return request;
}

void check_struct_size(std::size_t struct_size) {
  if (struct_size >= kFirstStructSize && struct_size <= sizeof(Request)) return;
  refuse("struct_size: expected " + std::to_string(kFirstStructSize) + ".." +
         std::to_string(sizeof(Request)) + ", as packsim_pack_request_init() sets it, got " +
         std::to_string(struct_size));
}

Request known_request(const Request& request) {
  check_struct_size(request.struct_size);
  Request known = default_request();
  std::memcpy(&known, &request, request.struct_size);
  return known;
}

std::uint32_t gpus_of_pack(const Request& request, std::size_t group) {
  if (request.n_sp_degrees == 0) return 1;
  return static_cast<std::uint32_t>(request.sp_degrees[request.n_sp_degrees == 1 ? 0 : group]);
}

Packing pack_as_requested(std::span<const std::int32_t> lengths_tokens, const Request& request) {
  for (const Range& range : kRanges) {
    const std::int64_t value = request.*range.field;
    if (value < range.least || value > range.most) {
      refuse(std::string(range.name) + ": expected " + std::to_string(range.least) + ".." +
             std::to_string(range.most) + ", got " + std::to_string(value));
    }
  }
  const std::string_view name = text("strategy", request.strategy);
  const auto capacities = array("capacities_tokens", request.capacities_tokens, request.n_capacities);
  const Strategy& strategy = known_strategy(name);
  const OptionValues options = options_of(request, strategy);
  if (strategy.needs_prices) {
    refuse("strategy: expected one that needs no prices, got \"" + std::string(name) +
           "\"; packsim run packs with it, for the model and cluster of a scenario");
  }
  PackRequest core{.lengths_tokens = lengths_tokens,
                   .capacities_tokens = {capacities.begin(), capacities.end()},
                   .over_long = policy("over_long", kOverLongNames, request.over_long),
                   .longest_tokens = request.longest_tokens,
                   .empty = policy("empty", kEmptyNames, request.empty),
                   .window_samples = request.window_samples,
                   .options = options};
  BatchSetting setting;
  if (request.window_samples < 0) core.window_samples = strategy.default_window_samples;
  if (strategy.forms_iterations()) setting = setting_of(request, capacities);
  core.setting = &setting;
  return pack(name, core);
}

}  // namespace packsim::c_api
