#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/read_published_steps.hpp"
#include "validation/interval_score.hpp"
#include "validation/predicted_rows.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// These are the project's targets.
constexpr double kMostMedianError = 0.10;
constexpr double kMostOfNine = 0.30;
constexpr double kMostOutside = 0.12;
constexpr double kMostScore = 0.75;
constexpr double kMostBias = 0.10;

// Steps by the tokens of a micro-batch on a GPU.
struct TokenClass {
  const char* text;
  double below_tokens;
};
constexpr std::array<TokenClass, 3> kTokenClasses = {
    {{"under 600 tokens", 600},
     {"600 to 2 499 tokens", 2500},
     {"more tokens", std::numeric_limits<double>::infinity()}}};

double tokens_per_gpu(const PublishedStep& step) {
  const Documents& documents = step.micro_batches.front().documents;
  return static_cast<double>(documents.tokens()) / step.plan.sequence_gpus();
}

// The profile that packsim new --stack names for such a stack.
const char* profile_name(const PublishedStep& step) {
  return step.plan.execution.kernels == &kTransformerEngineKernels ? "nemo-megatron-h100"
                                                                   : "transformers-h100";
}

// Whether one of the two numbers that these steps tell was fitted to it: what GPTQ's weights move, and what
// DeepSpeed's hooks take.
bool tells_a_fit(const PublishedStep& step) {
  return step.source == "qwen_readme" &&
         (step.plan.frozen_weights == &kGptq ||
          (step.plan.execution.shards == &kDeepSpeedZero3 && step.plan.lora_rank == 0));
}

}  // namespace

ValidationSet validate_user_stacks(const DataPaths& data) {
  ValidationSet set{.name = "steps-user-stacks",
                    .title = "Steps of users' stacks",
                    .about =
                        "Each step has the profile of its stack, which is fitted to steps on H100s; two "
                        "costs were fitted to some of these rows"};
  PredictedRows predicted(data);
  std::map<std::string, FrameworkProfile> profiles;
  std::array<double, kTokenClasses.size()> log_sums = {};
  std::array<int, kTokenClasses.size()> n_rows = {};
  for (const PublishedStep& step :
       load_published_steps(data.root + "/validation/user_steps.json", data).steps) {
    const auto [profile, is_new] = profiles.try_emplace(profile_name(step));
    if (is_new) profile->second = load_profile(profile->first, data);
    set.rows.push_back(predicted.row(step, profile->second));
    ValidationRow& row = set.rows.back();
    row.is_fitted = tells_a_fit(step);
    if (row.outcome == Outcome::refused) continue;
    const auto of_class = std::ranges::find_if(
        kTokenClasses, [&](const TokenClass& one) { return tokens_per_gpu(step) < one.below_tokens; });
    const auto at = static_cast<std::size_t>(of_class - kTokenClasses.begin());
    log_sums[at] += std::log(row.predicted / row.published);
    ++n_rows[at];
  }
  set.bounds = {{"median error", error_quantile(set.rows, 0.5), kMostMedianError},
                {"90th percentile of errors", error_quantile(set.rows, 0.9), kMostOfNine},
                {"share outside the 90 % interval", share_outside(set.rows), kMostOutside},
                {"interval score, over that of the best constant width",
                 mean_interval_score(set.rows) / best_constant_score(set.rows), kMostScore}};
  for (std::size_t i = 0; i < kTokenClasses.size(); ++i)
    set.bounds.push_back({std::string("bias of micro-batches of ") + kTokenClasses[i].text,
                          std::abs(std::expm1(log_sums[i] / std::max(1, n_rows[i]))), kMostBias});
  return set;
}

}  // namespace packsim
