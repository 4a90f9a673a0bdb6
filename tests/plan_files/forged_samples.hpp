#pragma once

#include <algorithm>

#include "tests/plan_files/forged_plans.hpp"

namespace packsim::testing {

/// How what a plan says of samples is broken, beside single facts.
inline std::vector<ForgeryRule> forged_samples() {
  const auto hash_is = [](const std::string& name, const std::string& hash) {
    return ForgeryRule{"lengths_hash is " + name, "/lengths_hash: expected 32 hexadecimal digits",
                       [=](Forgery& plan) {
                         plan.set_fact("lengths_hash", hash);
                         return true;
                       }};
  };
  // Samples that are dropped or cut short, as somebody counts them who may be wrong.
  const auto lost = [](const std::string& name, const std::string& expected, const char* samples,
                       std::int64_t n_more, const char* tokens, std::int64_t n_more_tokens) {
    return ForgeryRule{name, expected, [=](Forgery& plan) {
                         if (!plan.is_cut() || plan.facts().over_long != OverLong::truncate) return false;
                         plan.set_fact(samples, plan.fact(samples) + n_more);
                         plan.set_fact(tokens, n_more_tokens);
                         const std::int64_t n_tokens = plan.fact("n_tokens") - plan.fact(tokens);
                         plan.set_fact("n_tokens", n_tokens + n_more_tokens);
                         return true;
                       }};
  };
  return {
      hash_is("a digit short", std::string(31, '0')),
      hash_is("a digit longer", std::string(33, '0')),
      hash_is("in capitals", std::string(31, '0') + "A"),
      hash_is("a long text", std::string(50, 'x')),
      {"lengths_hash is another, where samples are cut", "the hash of lengths_tokens",
       [](Forgery& plan) {
         const PackCounts& counts = plan.facts().counts;
         if (!plan.is_cut() || counts.dropped_samples + counts.truncated_samples > 0) return false;
         plan.set_fact("lengths_hash", std::string(32, '0'));
         return true;
       }},
      lost("as many samples are truncated as tokens less one", "/truncated_tokens: expected those of ",
           "truncated_samples", 0, "truncated_tokens", 1),
      lost("no tokens of truncated samples", "/truncated_tokens: expected those of ", "truncated_samples", 0,
           "truncated_tokens", 0),
      lost("tokens of no dropped sample", "/dropped_tokens: expected those of 0 dropped samples",
           "dropped_samples", 0, "dropped_tokens", 1),
      {"one sample more is truncated than there are longest ones", "/truncated_samples: expected at most ",
       [](Forgery& plan) {
         if (plan.facts().counts.truncated_samples == 0 || plan.facts().counts.split_samples > 0)
           return false;
         const auto lengths = plan.before->lengths_tokens;
         const std::int64_t n_longest = std::ranges::count(lengths, std::ranges::max(lengths));
         plan.set_fact("truncated_samples", n_longest + 1);
         return true;
       }},
      {"more tokens are lost than 64 bits count", "/n_tokens: expected ",
       [](Forgery& plan) {
         if (!plan.is_cut()) return false;
         plan.set_fact("dropped_tokens", 9223372036854775807);
         plan.set_fact("truncated_tokens", 9223372036854775807);
         return true;
       }},
      {"a sample is missing, and not counted", "/dropped_samples and /empty_samples: expected ",
       [](Forgery& plan) {
         if (!plan.is_cut()) return false;
         plan.set_fact("n_samples", plan.fact("n_samples") + 1);
         return true;
       }},
      {"a piece of no tokens", "a piece with tokens",
       [](Forgery& plan) {
         if (!plan.is_cut() || !plan.before->loss_tokens.empty()) return false;
         const auto samples = plan.before->piece_samples;
         for (std::size_t i = 1; i < samples.size(); ++i) {
           if (samples[i] != samples[i - 1]) continue;
           plan.length(i) = 0;
           return true;
         }
         return false;
       }},
      {"a cut sample is counted as one of a pack of its own",
       "/own_pack_samples: expected 0, as samples are cut",
       [](Forgery& plan) {
         if (!plan.is_cut()) return false;
         plan.set_fact("over_long", "own_pack");
         plan.set_fact("own_pack_samples", 1);
         return true;
       }},
  };
}

}  // namespace packsim::testing
