#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "models/plan/plan_key.hpp"

/// How keys of a plan get to their fields and back.
namespace packsim::plan_detail {

/// A field of a plan by its path of members.
template <auto... kMembers>
auto& field_of(auto& plan) {
  return (plan.*....*kMembers);
}

/// Gets and sets the number, flag or list in a field.
template <auto... kMembers>
struct ValueField {
  using Field = std::remove_cvref_t<decltype(field_of<kMembers...>(std::declval<ParallelPlan&>()))>;
  static constexpr bool kIsInteger = std::is_integral_v<Field> && !std::is_same_v<Field, bool>;

  static PlanValue get(const ParallelPlan& plan) {
    if constexpr (kIsInteger) return std::int64_t{field_of<kMembers...>(plan)};
    if constexpr (!kIsInteger) return field_of<kMembers...>(plan);
  }
  static void set(ParallelPlan& plan, const PlanValue& value) {
    if constexpr (kIsInteger) field_of<kMembers...>(plan) = static_cast<Field>(std::get<std::int64_t>(value));
    if constexpr (!kIsInteger) field_of<kMembers...>(plan) = std::get<Field>(value);
  }
};

template <const auto& kRows>
std::vector<std::string_view> names_of() {
  std::vector<std::string_view> names;
  for (const auto& row : kRows) names.push_back(row.name);
  return names;
}

template <const auto& kRows>
const auto& row_named(std::string_view name) {
  return *std::ranges::find(kRows, name, [](const auto& row) { return std::string_view(row.name); });
}

/// Gets and sets an enumerator by its name in a table.
template <const auto& kRows, auto... kMembers>
struct NamedField {
  static PlanValue get(const ParallelPlan& plan) {
    const auto row = std::ranges::find_if(
        kRows, [&](const auto& one) { return one.value == field_of<kMembers...>(plan); });
    return std::string(row->name);
  }
  static void set(ParallelPlan& plan, const PlanValue& value) {
    field_of<kMembers...>(plan) = row_named<kRows>(std::get<std::string>(value)).value;
  }
};

/// The words of a value: one, or those of a list.
inline std::vector<std::string> words_of(const PlanValue& value) {
  if (const auto* const list = std::get_if<std::vector<std::string>>(&value)) return *list;
  return {std::get<std::string>(value)};
}

/// The usual schedule is "auto".
struct ScheduleField {
  static constexpr std::string_view kUsual = "auto";

  static std::vector<std::string_view> words() {
    std::vector<std::string_view> names = {kUsual};
    for (const PipelineSchedule* schedule : pipeline_schedules()) names.push_back(schedule->name);
    return names;
  }
  static PlanValue get(const ParallelPlan& plan) {
    return std::string(plan.pipeline_schedule == nullptr ? kUsual : plan.pipeline_schedule->name);
  }
  static void set(ParallelPlan& plan, const PlanValue& value) {
    const auto schedules = pipeline_schedules();
    const auto named = std::ranges::find(schedules, std::get<std::string>(value), &PipelineSchedule::name);
    plan.pipeline_schedule = named == schedules.end() ? nullptr : *named;
  }
};

/// A word, or the modules that a layer recomputes.
struct CheckpointingField {
  static PlanValue get(const ParallelPlan& plan);
  static void set(ParallelPlan& plan, const PlanValue& value);
};

/// A word for nothing or for one state, or a list of states.
struct OffloadField {
  static std::vector<std::string_view> words();
  static PlanValue get(const ParallelPlan& plan);
  static void set(ParallelPlan& plan, const PlanValue& value);
};

/// A word for all, or a list of matrices.
struct LoraTargetsField {
  static std::vector<std::string_view> words();
  static PlanValue get(const ParallelPlan& plan);
  static void set(ParallelPlan& plan, const PlanValue& value);
};

}  // namespace packsim::plan_detail
