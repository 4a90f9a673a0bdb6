#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan_files/plan_view.hpp"
#include "tests/plan_files/damaged_plans.hpp"
#include "tests/plan_files/made_plans.hpp"

namespace packsim::testing {

/// A true plan that rules make false. `before` is the plan as it was.
struct Forgery {
  Bytes file;
  PlanView before;

  explicit Forgery(const Bytes& bytes) : file(bytes), before(PlanView::of_bytes(bytes)) {}

  const PlanFacts& facts() const { return before->facts; }
  bool is_planned() const { return find_strategy(facts().strategy)->plan_batches != nullptr; }
  bool is_cut() const { return !before->piece_samples.empty(); }

  template <typename Element>
  Element& at(std::string_view section, std::size_t index) {
    return element<Element>(file, section, index);
  }
  PlanPlacedPack& placed(std::size_t i) { return at<PlanPlacedPack>(plan_sections::kPlaced, i); }
  PlanIteration& iteration(std::size_t i) { return at<PlanIteration>(plan_sections::kIterations, i); }
  PlanGroup& group(std::size_t i) { return at<PlanGroup>(plan_sections::kGroups, i); }
  double& weight(std::size_t i) { return at<double>(plan_sections::kWeights, i); }
  std::int32_t& length(std::size_t i) { return at<std::int32_t>(plan_sections::kLengths, i); }
  PlanHeader& header() { return *reinterpret_cast<PlanHeader*>(file.data()); }

  void set_fact(const std::string& key, const nlohmann::ordered_json& value) {
    const auto text_at = [&] {
      return reinterpret_cast<char*>(file.data() + section_of(file, plan_sections::kFacts).offset_bytes);
    };
    const std::string text(text_at(), section_of(file, plan_sections::kFacts).n_elements);
    nlohmann::ordered_json facts = nlohmann::ordered_json::parse(text);
    facts[key] = value;
    const std::string changed = facts.dump();
    resize_section(file, plan_sections::kFacts, changed.size());
    std::memcpy(text_at(), changed.data(), changed.size());
  }
  std::int64_t fact(const std::string& key) const {
    return nlohmann::json::parse(facts_to_json(facts())).at(key).get<std::int64_t>();
  }
};

/// How one promise of docs/plan_files.md is broken, and what a refusal has to say.
struct ForgeryRule {
  std::string name;
  std::string expected;
  /// False: the plan has nothing that the rule could break.
  std::function<bool(Forgery&)> forge;
};

}  // namespace packsim::testing
