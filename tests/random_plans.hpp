#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "models/plan/plan_key.hpp"

namespace packsim_test {

// Plans with any value that a key may have, most of which no cluster could run.
class RandomPlans {
 public:
  explicit RandomPlans(std::uint32_t seed) : generator_(seed) {}

  packsim::ParallelPlan next() {
    packsim::ParallelPlan plan;
    for (const packsim::PlanKey& key : packsim::plan_keys()) key.set(plan, value(key));
    return plan;
  }

  packsim::PlanValue value(const packsim::PlanKey& key) {
    const packsim::Option& option = key.option;
    if (key.list_words != nullptr) return words(key);
    if (key.is_list) return integers(option);
    switch (option.type) {
      case packsim::OptionType::boolean:
        return pick(2) == 1;
      case packsim::OptionType::integer:
        return integer(option);
      case packsim::OptionType::number:
        return static_cast<double>(option.least) +
               static_cast<double>(option.most - option.least) * std::pow(uniform(), 4);
      case packsim::OptionType::word:
        break;
    }
    return std::string(option.words()[pick(option.words().size())]);
  }

 private:
  std::size_t pick(std::size_t n) { return generator_() % n; }
  double uniform() { return static_cast<double>(generator_()) / 4294967296.0; }

  // As often small as large.
  std::int64_t integer(const packsim::Option& option) {
    const auto range = static_cast<double>(option.most - option.least);
    return option.least + static_cast<std::int64_t>(std::round(std::pow(range + 1, uniform()) - 1));
  }

  std::vector<int> integers(const packsim::Option& option) {
    std::vector<int> numbers(pick(9));
    for (int& number : numbers) number = static_cast<int>(integer(option));
    return numbers;
  }

  packsim::PlanValue words(const packsim::PlanKey& key) {
    const std::vector<std::string_view> alone = key.option.words();
    if (pick(2) == 0) return std::string(alone[pick(alone.size())]);
    std::vector<std::string> some;
    for (const std::string_view word : key.list_words())
      if (pick(3) == 0) some.emplace_back(word);
    if (some.empty() && !key.may_be_empty) some.emplace_back(key.list_words().back());
    return some;
  }

  std::mt19937 generator_;
};

}  // namespace packsim_test
