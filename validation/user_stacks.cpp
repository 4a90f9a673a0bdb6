#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/read_published_steps.hpp"
#include "validation/interval_score.hpp"
#include "validation/log_fit.hpp"
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
// Shipped numbers are rounded.
constexpr double kFromFit = 0.03;

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

// The profile that packsim new --stack names for such a stack; torchtune has none, and runs eager or compiled
// layers as transformers does.
const char* profile_name(const PublishedStep& step) {
  if (step.plan.execution.kernels != &kTransformerEngineKernels) return "transformers-h100";
  const bool is_of_deepspeed = step.id.find("megatron-deepspeed") != std::string::npos;
  return is_of_deepspeed ? "megatron-deepspeed-a100" : "any-framework-h100";
}

// Where a fit keeps what it tries.
struct Styles {
  FrozenFormat frozen = kGptq;
  ShardStyle shards = kDeepSpeedZero3;
};

// A cost that only some of these steps tell, of which one number was fitted to all of them.
struct FittedCost {
  std::string_view name;
  double shipped = 0;
  bool (*tells)(const PublishedStep& step) = nullptr;
  /// The step with another number. It stays in `styles`, which the step refers to.
  PublishedStep (*with)(PublishedStep step, double number, Styles& styles) = nullptr;
};

// What GPTQ's weights move, and what DeepSpeed's hooks take.
constexpr std::array<FittedCost, 2> kCostsOfUsers = {{
    {.name = "what GPTQ's weights move",
     .shipped = kGptq.made_bytes,
     .tells = [](const PublishedStep& step) { return step.plan.frozen_weights == &kGptq; },
     .with =
         [](PublishedStep step, double number, Styles& styles) {
           styles.frozen.made_bytes = number;
           step.plan.frozen_weights = &styles.frozen;
           return step;
         }},
    {.name = "what DeepSpeed's hooks take",
     .shipped = kDeepSpeedZero3.gather_launches,
     .tells =
         [](const PublishedStep& step) {
           return step.source == "qwen_readme" && step.plan.execution.shards == &kDeepSpeedZero3 &&
                  step.plan.lora_rank == 0;
         },
     .with =
         [](PublishedStep step, double number, Styles& styles) {
           styles.shards.gather_launches = number;
           step.plan.execution.shards = &styles.shards;
           return step;
         }},
}};

class UserSteps {
 public:
  explicit UserSteps(const DataPaths& data)
      : data_(data),
        predicted_(data),
        steps_(load_published_steps(data.root + "/validation/user_steps.json", data).steps) {}

  const std::vector<PublishedStep>& steps() const { return steps_; }

  // A step that tells a fitted cost has the number that is fitted to the steps of the other models.
  ValidationRow row(const PublishedStep& step) {
    Styles styles;
    for (const FittedCost& cost : kCostsOfUsers)
      if (cost.tells(step)) return priced(cost.with(step, fitted(cost, step.model.name), styles));
    return priced(step);
  }

  // The number fitted to the steps of all models but this one; empty: to all.
  double fitted(const FittedCost& cost, const std::string& without) {
    const auto [at, is_new] = fits_.try_emplace({cost.shipped, without});
    if (!is_new) return at->second;
    std::vector<const PublishedStep*> rows;
    for (const PublishedStep& step : steps_)
      if (cost.tells(step) && step.model.name != without) rows.push_back(&step);
    Styles styles;
    const auto numbers =
        fit_logs(rows.size(), {cost.shipped}, [&](std::size_t i, const std::vector<double>& tried) {
          const ValidationRow row = priced(cost.with(*rows[i], tried.front(), styles));
          return std::log(row.predicted / row.published);
        });
    return at->second = numbers.front().value();
  }

 private:
  ValidationRow priced(const PublishedStep& step) {
    const auto [profile, is_new] = profiles_.try_emplace(profile_name(step));
    if (is_new) profile->second = load_profile(profile->first, data_);
    return predicted_.row(step, profile->second);
  }

  const DataPaths& data_;
  PredictedRows predicted_;
  std::vector<PublishedStep> steps_;
  std::map<std::string, FrameworkProfile> profiles_;
  std::map<std::pair<double, std::string>, double> fits_;  // by shipped number and model
};

}  // namespace

ValidationSet validate_user_stacks(const DataPaths& data) {
  ValidationSet set{
      .name = "steps-user-stacks",
      .title = "Steps of users' stacks",
      .about =
          "Each step has the profile of its stack, which is fitted to steps on H100s. Two costs that "
          "only some of these rows tell are fitted to them, without the step's own model"};
  UserSteps all(data);
  std::array<double, kTokenClasses.size()> log_sums = {};
  std::array<int, kTokenClasses.size()> n_rows = {};
  for (const PublishedStep& step : all.steps()) {
    set.rows.push_back(all.row(step));
    const ValidationRow& row = set.rows.back();
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
  for (const FittedCost& cost : kCostsOfUsers)
    set.bounds.push_back({"distance from its fit: " + std::string(cost.name),
                          std::abs(cost.shipped / all.fitted(cost, "") - 1), kFromFit});
  return set;
}

}  // namespace packsim
