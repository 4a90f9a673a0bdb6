#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "packing/options/option.hpp"
#include "packing/policies/policies.hpp"

namespace packsim {

struct Policies;

/// What a policy changes.
enum class PolicyUse : std::uint8_t { packs, schedule, mixture };

/// One policy: all that anybody needs to know to read, check, write and document it.
struct Policy {
  Option option;
  PolicyUse use = PolicyUse::packs;
  std::string_view default_text;  ///< what docs say of the default; empty: its value
  OptionValue (*get)(const Policies& policies) = nullptr;
  /// value: one that the option accepts.
  void (*set)(Policies& policies, const OptionValue& value) = nullptr;
};

template <const auto& kNames>
std::vector<std::string_view> names_of_policy() {
  std::vector<std::string_view> names;
  for (const auto& row : kNames) names.push_back(row.name);
  return names;
}

// The policy is in a member of Policies, whose default is the policy's.

template <auto kMember, const auto& kNames, typename All = Policies>
constexpr Policy word_policy(std::string_view name, PolicyUse use, std::string_view text,
                             std::string_view default_text = {}) {
  return {.option = {.name = name,
                     .text = text,
                     .type = OptionType::word,
                     .default_word = policy_name(kNames, All{}.*kMember),
                     .words = names_of_policy<kNames>},
          .use = use,
          .default_text = default_text,
          .get = [](const Policies& policies) -> OptionValue {
            return std::string(policy_name(kNames, policies.*kMember));
          },
          .set =
              [](Policies& policies, const OptionValue& value) {
                policies.*kMember = *policy_value(kNames, std::get<std::string>(value));
              }};
}

template <auto kMember, typename All = Policies>
constexpr Policy boolean_policy(std::string_view name, PolicyUse use, std::string_view text,
                                std::string_view default_text = {}) {
  return {
      .option = {.name = name, .text = text, .type = OptionType::boolean, .default_boolean = All{}.*kMember},
      .use = use,
      .default_text = default_text,
      .get = [](const Policies& policies) -> OptionValue { return policies.*kMember; },
      .set = [](Policies& policies, const OptionValue& value) { policies.*kMember = std::get<bool>(value); }};
}

/// The value of a member; of one that is not set, 0.
template <typename Member>
constexpr std::int64_t integer_of(const Member& member) {
  if constexpr (std::is_integral_v<Member>) return member;
  if constexpr (!std::is_integral_v<Member>) return member.value_or(0);
}

/// The member may be a std::optional.
template <auto kMember, typename All = Policies>
constexpr Policy integer_policy(std::string_view name, PolicyUse use, std::int64_t least, std::int64_t most,
                                std::string_view text, std::string_view default_text = {}) {
  return {.option = {.name = name,
                     .text = text,
                     .default_integer = std::max(least, integer_of(All{}.*kMember)),
                     .least = least,
                     .most = most},
          .use = use,
          .default_text = default_text,
          .get = [](const Policies& policies) -> OptionValue { return integer_of(policies.*kMember); },
          .set =
              [](Policies& policies, const OptionValue& value) {
                using Member = std::remove_cvref_t<decltype(policies.*kMember)>;
                if constexpr (std::is_integral_v<Member>) {
                  policies.*kMember = static_cast<Member>(std::get<std::int64_t>(value));
                } else {
                  policies.*kMember = static_cast<typename Member::value_type>(std::get<std::int64_t>(value));
                }
              }};
}

}  // namespace packsim
