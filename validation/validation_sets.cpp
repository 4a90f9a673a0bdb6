#include "validation/validation_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "validation/time_ratios.hpp"

namespace packsim {
namespace {

// What makes some sets together, and their names.
struct SetMaker {
  std::vector<std::string> names;
  std::function<std::vector<ValidationSet>(const DataPaths&)> make;
};

constexpr const char* kTimeRatios = "time-ratios";

std::string tables_path(const DataPaths& data) {
  return data.root + "/validation/hbp.json";
}

const std::vector<SetMaker>& set_makers() {
  static const std::vector<SetMaker> makers = {
      {{"hbp-steps", "hbp-steps-left-out", "hbp-memory"},
       [](const DataPaths& data) {
         return validate_table_steps(load_published_tables(tables_path(data), data), data);
       }},
      {{"hbp-abr-lengths", "hbp-abr-data"},
       [](const DataPaths& data) {
         return validate_balance(load_published_tables(tables_path(data), data), data);
       }},
      {{"hbp-ablation", "hbp-groups", "hbp-strategies", "hbp-batching", "hbp-longalign", "hbp-overhead",
        "hbp-ratio-ranks"},
       [](const DataPaths& data) {
         ScenarioRuns runs(data);
         return validate_gpu_days(load_published_tables(tables_path(data), data), runs);
       }},
      {{"hbp-flexsp"},
       [](const DataPaths& data) {
         ScenarioRuns runs(data);
         return validate_flexsp(load_published_tables(tables_path(data), data), runs);
       }},
      {{"hbp-deepseek"},
       [](const DataPaths& data) {
         ScenarioRuns runs(data);
         return validate_ratios(load_published_tables(tables_path(data), data), runs);
       }},
      {{"steps-kernels", "steps"}, validate_published_steps},
      {{"steps-held-out", "steps-stack-left-out"}, validate_held_out_steps},
      {{"steps-transformers", "steps-transformers-left-out"}, validate_transformers_steps},
      {{"steps-user-stacks"}, [](const DataPaths& data) { return std::vector{validate_user_stacks(data)}; }},
      {{"dynamic-cp"}, [](const DataPaths& data) { return std::vector{validate_dynamic_cp(data)}; }},
      {{"public-reports"}, [](const DataPaths& data) { return std::vector{validate_public_reports(data)}; }},
      {{"steps-memory"}, [](const DataPaths& data) { return std::vector{validate_step_memory(data)}; }},
  };
  return makers;
}

}  // namespace

std::vector<std::string> validation_set_names() {
  std::vector<std::string> names;
  for (const SetMaker& maker : set_makers())
    names.insert(names.end(), maker.names.begin(), maker.names.end());
  names.emplace_back(kTimeRatios);
  return names;
}

std::vector<ValidationSet> validate(std::span<const std::string> names, const DataPaths& data) {
  const std::vector<std::string> known = validation_set_names();
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end())
      throw std::invalid_argument(
          fmt::format("set: expected one of {}, got \"{}\"", fmt::join(known, ", "), name));
  }
  const auto wanted = [&](const std::string& name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  const auto needed = [&](const std::string& name) {
    return wanted(name) || (wanted(kTimeRatios) && std::ranges::count(sets_with_ratios(), name) > 0);
  };
  std::vector<ValidationSet> sets;
  for (const SetMaker& maker : set_makers()) {
    if (std::ranges::none_of(maker.names, needed)) continue;
    std::ranges::move(maker.make(data), std::back_inserter(sets));
  }
  if (wanted(kTimeRatios)) sets.push_back(validate_time_ratios(sets));
  std::erase_if(sets, [&](const ValidationSet& set) { return !wanted(set.name); });
  return sets;
}

}  // namespace packsim
