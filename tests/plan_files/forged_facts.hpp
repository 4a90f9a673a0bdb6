#pragma once

#include "tests/plan_files/forged_plans.hpp"

namespace packsim::testing {

/// A fact that gets another value. applies: empty, or whether the plan can be held to it.
inline ForgeryRule false_fact(const std::string& key, const nlohmann::ordered_json& value,
                              const std::string& expected,
                              const std::function<bool(const Forgery&)>& applies = {}) {
  return {key + " is " + value.dump(), expected, [=](Forgery& plan) {
            if (applies && !applies(plan)) return false;
            plan.set_fact(key, value);
            return true;
          }};
}

/// A count that is larger than it should be.
inline ForgeryRule false_count(const std::string& key, const std::string& expected,
                               const std::function<bool(const Forgery&)>& applies = {}) {
  return {key + " is larger", expected, [=](Forgery& plan) {
            if (applies && !applies(plan)) return false;
            plan.set_fact(key, plan.fact(key) + 1000);
            return true;
          }};
}

inline std::vector<ForgeryRule> forged_facts() {
  const auto whole = [](const Forgery& plan) { return !plan.is_cut(); };
  const auto cut = [](const Forgery& plan) { return plan.is_cut(); };
  const auto dealt_in = [](PackOrder order) {
    return [=](const Forgery& plan) { return !plan.is_planned() && plan.facts().order != order; };
  };
  const auto other_normaliser = [](const char* name) {
    return [=](const Forgery& plan) { return plan.facts().normaliser != name; };
  };
  return {
      false_count("n_tokens", "/n_tokens"),
      false_count("dropped_samples", "/dropped_samples"),
      false_count("dropped_tokens", "/n_tokens", cut),
      false_count("dropped_tokens", "/dropped_tokens", whole),
      false_count("empty_samples", "/empty_samples"),
      false_count("truncated_samples", "/truncated_samples"),
      false_count("truncated_tokens", "/n_tokens", cut),
      false_count("truncated_tokens", "/truncated_tokens", whole),
      false_count("split_samples", "/split_samples"),
      false_count("own_pack_samples", "/own_pack_samples"),
      false_count("dropped_packs", "/dropped_packs"),
      false_count("dropped_pack_tokens", "/dropped_pack_tokens"),
      false_count("repeated_packs", "/repeated_packs"),
      false_count("repeated_tokens", "/repeated_tokens"),
      false_count("curriculum_iterations", "/curriculum_iterations"),
      false_count("n_samples", "lengths_tokens: expected ", whole),
      false_count("n_samples", "/dropped_samples and /empty_samples: expected ", cut),
      false_fact("n_samples", std::int64_t{1} << 40, "/n_samples: expected 0.."),
      false_fact("n_gpus", 1 << 30, "/n_gpus: expected 1..1048576"),
      false_fact("n_gpus", 0, "/n_gpus: expected 1..1048576"),
      false_fact("n_gpus", 1 << 20, "expected ", dealt_in(PackOrder::balanced)),
      false_fact("tp_degree", 0, "/tp_degree: expected 1..1048576"),
      false_fact("pp_degree", 1 << 21, "/pp_degree: expected 1..1048576"),
      false_fact("zero_stage", 77, "/zero_stage: expected 0..3"),
      false_fact("zero_stage", 4, "/zero_stage: expected 0..3"),
      false_fact("epochs", 1 << 17, "/epochs: expected 1..65536"),
      false_fact("epochs", 1, "expected ", [](const Forgery& plan) { return plan.facts().epochs > 1; }),
      false_fact("tokens_per_iteration", std::int64_t{1} << 60, "/tokens_per_iteration: expected 0.."),
      false_fact("pad_multiple_tokens", 0, "/pad_multiple_tokens: expected 1..16777216"),
      false_fact("pad_multiple_tokens", 1 << 30, "/pad_multiple_tokens: expected 1..16777216"),
      false_fact("lengths_hash", "xyz", "/lengths_hash: expected 32 hexadecimal digits"),
      false_fact("lengths_hash", std::string(32, '0'), "the hash of lengths_tokens", whole),
      false_fact("strategy", "hbq", "/strategy: expected a strategy of this packsim"),
      false_fact("normaliser", "mean", "/normaliser: expected one of stable, "),
      false_fact("normaliser", "sum", "weights[", other_normaliser("sum")),
      false_fact("normaliser", "longalign", "weights[", other_normaliser("longalign")),
      false_fact("normaliser", "token_mean", "weights[", other_normaliser("token_mean")),
      false_fact("over_long", "error", "as over_long is error",
                 [](const Forgery& plan) {
                   const PackCounts& counts = plan.facts().counts;
                   return counts.dropped_samples + counts.truncated_samples + counts.own_pack_samples > 0;
                 }),
      false_fact("over_long", "truncate", "samples of one piece, as over_long is truncate",
                 [](const Forgery& plan) { return plan.facts().over_long == OverLong::split; }),
      false_fact("empty", "error", "as empty is error",
                 [](const Forgery& plan) { return plan.facts().counts.empty_samples > 0; }),
      false_fact("empty", "drop", "no empty sample",
                 [](const Forgery& plan) { return plan.facts().empty == Empty::keep; }),
      false_fact("last_iteration", "drop", "as last_iteration is drop",
                 [](const Forgery& plan) { return plan.facts().repeated_packs > 0; }),
      false_fact("last_iteration", "shorten", "as last_iteration is shorten",
                 [](const Forgery& plan) { return plan.facts().repeated_packs > 0; }),
      false_fact("last_iteration", "repeat", "as last_iteration is repeat",
                 [](const Forgery& plan) { return plan.facts().dropped_packs > 0; }),
      false_fact("order", "as_packed", "order as_packed", dealt_in(PackOrder::as_packed)),
      false_fact("order", "neighbours", "order neighbours",
                 [](const Forgery& plan) {
                   const PackOrder order = plan.facts().order;
                   return !plan.is_planned() && order != PackOrder::neighbours &&
                          order != PackOrder::as_packed;
                 }),
      false_fact("order", "balanced", "as order is balanced", dealt_in(PackOrder::balanced)),
      false_fact("curriculum_iterations", 2, "curriculum",
                 [](const Forgery& plan) {
                   return plan.before->iterations.size() > 6 && plan.facts().curriculum_iterations == 0;
                 }),
      {"a key comes twice", "facts: expected each key once, got \"seed\" twice",
       [](Forgery& plan) {
         replace_in_facts(plan.file, "\"seed\":", "\"seed\": 1, \"seed\":");
         return true;
       }},
  };
}

}  // namespace packsim::testing
