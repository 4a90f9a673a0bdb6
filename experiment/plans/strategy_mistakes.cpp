#include "experiment/plans/strategy_mistakes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace packsim {
namespace {

// Strategies with the same mistake.
struct SharedMistake {
  const StrategyMistake* first = nullptr;
  std::vector<std::size_t> strategies;
};

std::string first_names(const Scenario& scenario, const std::vector<std::size_t>& strategies) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kShown, strategies.size()); ++i)
    names.push_back(scenario.strategies[strategies[i]].name);
  const std::string text = fmt::format("{}", fmt::join(names, ", "));
  return strategies.size() <= kShown ? text : fmt::format("{} and {} more", text, strategies.size() - kShown);
}

std::string message_of(const Scenario& scenario, const SharedMistake& shared) {
  const std::string key = shared.first->key.empty() ? "" : "/" + shared.first->key;
  const std::string place = shared.strategies.size() == 1 ? fmt::format("/{}{}", shared.first->strategy, key)
                            : key.empty()                 ? ""
                                                          : "/*" + key;
  return fmt::format("{}: /strategies{}: {}: {}", scenario.path, place,
                     first_names(scenario, shared.strategies), shared.first->text);
}

}  // namespace

std::vector<std::string> messages_of(const Scenario& scenario, const std::vector<StrategyMistake>& mistakes) {
  std::vector<SharedMistake> all;
  for (const StrategyMistake& mistake : mistakes) {
    auto same = std::ranges::find_if(all, [&](const SharedMistake& one) {
      return one.first->key == mistake.key && one.first->text == mistake.text;
    });
    if (same == all.end()) same = all.insert(all.end(), {.first = &mistake, .strategies = {}});
    if (std::ranges::find(same->strategies, mistake.strategy) == same->strategies.end())
      same->strategies.push_back(mistake.strategy);
  }
  std::vector<std::string> messages;
  for (const SharedMistake& shared : all) messages.push_back(message_of(scenario, shared));
  return messages;
}

}  // namespace packsim
