#include "scenarios/loader/plan_checks.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace packsim {
namespace {

constexpr std::string_view kTimes = " x ";

std::vector<std::string> factors_of(std::string_view product) {
  std::vector<std::string> factors;
  for (std::size_t at = 0; (at = product.find(kTimes)) != std::string_view::npos;) {
    factors.emplace_back(product.substr(0, at));
    product.remove_prefix(at + kTimes.size());
  }
  factors.emplace_back(product);
  return factors;
}

// "tp_degree x sp_degree: expected a divisor of ..., got 4 x 16 = 64"
PlanMistake taken_apart(const std::string& mistake) {
  constexpr std::string_view kExpected = ": expected ";
  constexpr std::string_view kGot = ", got ";
  const std::size_t expected_at = mistake.find(kExpected);
  const std::size_t got_at = mistake.rfind(kGot);
  const std::string names = mistake.substr(0, expected_at);
  const std::size_t from = expected_at + kExpected.size();
  PlanMistake parts{.keys = factors_of(names),
                    .expected = mistake.substr(from, got_at - from),
                    .got = mistake.substr(got_at + kGot.size())};
  if (parts.keys.size() > 1) parts.expected = names + " to be " + parts.expected;
  return parts;
}

}  // namespace

bool PlanMistake::has_any_of(const std::vector<std::string>& some_keys) const {
  return std::ranges::find_first_of(keys, some_keys) != keys.end();
}

std::vector<PlanMistake> taken_apart(const std::vector<std::string>& mistakes) {
  std::vector<PlanMistake> parts;
  for (const std::string& mistake : mistakes) parts.push_back(taken_apart(mistake));
  return parts;
}

void refuse_plan(JsonReader& reader, std::string_view key, const PlanMistake& mistake) {
  const Json* value = reader.value(key);
  if (mistake.keys.size() == 1 && value != nullptr && value->is_primitive()) {
    reader.refuse(key, mistake.expected);
  } else {
    reader.refuse(key, mistake.expected, mistake.got);
  }
}

std::vector<std::string> check_plan(JsonReader& scenario, const Machine& machine) {
  if (machine.model == nullptr || machine.cluster == nullptr) return {};
  JsonReader training = scenario.object("training");
  JsonReader parallelism = scenario.optional_object("parallelism");
  for (JsonReader* reader : {&training, &parallelism}) reader->allow_any_keys();
  std::vector<std::string> refused;
  for (const PlanMistake& mistake :
       taken_apart(plan_mistakes(*machine.model, *machine.cluster, machine.plan))) {
    const std::string& key = mistake.keys.front();
    refuse_plan(key == "zero_stage" ? training : parallelism, key, mistake);
    refused.insert(refused.end(), mistake.keys.begin(), mistake.keys.end());
  }
  return refused;
}

}  // namespace packsim
