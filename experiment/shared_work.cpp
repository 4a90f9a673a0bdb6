#include "experiment/shared_work.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
namespace packsim {
namespace {

std::string data_key(const Scenario& scenario) {
  const LengthSpec& lengths = scenario.lengths;
  std::string key = fmt::format("{} {} {} {}", scenario.seed, lengths.count.value_or(0),
                                lengths.with_replacement, lengths.shuffle);
  for (const LengthSource& source : lengths.mix)
    key += fmt::format("\n{}\n{}\n{} {:a} {}", source.path, source.source, source.count.value_or(0),
                       source.weight.value_or(0), source.given ? source.given->hash : "");
  if (!scenario.mixing) return key;
  // All that draws depend on beside the sources, whose names and groups are in the lengths.
  for (const char* member : {"mixing", "lengths", "training"}) key += "\n" + scenario.json->at(member).dump();
  return key;
}

// Members of a scenario that no result of a strategy depends on.
constexpr const char* kNoPartOfResult[] = {"name", "description", "$schema", "baseline", "strategies"};

// The scenario as one strategy sees it.
std::string result_key(const Scenario& scenario, const StrategySpec& spec) {
  nlohmann::ordered_json json = *scenario.json;
  std::string key = scenario.path + "\n" + data_key(scenario);
  for (const auto& element : json["strategies"]) {
    const std::string name = element.value("name", element.value("strategy", ""));
    if (name == spec.name) key += "\n" + element.dump();
  }
  for (const char* member : kNoPartOfResult) json.erase(member);
  // What the loader has taken from the other strategies.
  key += fmt::format("\n{}\n", spec.longest_tokens.value_or(0));
  return key + json.dump();
}

}  // namespace

std::shared_ptr<const DataSet> SharedWork::data(const Scenario& scenario) {
  return data_.get(data_key(scenario), [&] { return draw_data(scenario); });
}

std::shared_ptr<const JobPrices> SharedWork::prices(const Scenario& scenario) {
  std::string key = scenario.path;
  // The members that a price depends on, beside the plan.
  for (const char* member : {"model", "cluster", "profile", "hardware", "what_if"}) {
    if (scenario.json->contains(member)) key += "\n" + scenario.json->at(member).dump();
    key += '\n';
  }
  return prices_.get(key, [&] {
    JobPrices made{.scenario = std::make_unique<Scenario>(scenario), .prices = nullptr};
    made.prices = std::make_unique<SharedPrices>(*made.scenario);
    return made;
  });
}

StrategyResult SharedWork::result(const Scenario& scenario, const StrategySpec& spec,
                                  const std::function<StrategyResult()>& make) {
  return *results_.get(result_key(scenario, spec), make);
}

}  // namespace packsim
