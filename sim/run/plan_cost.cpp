#include "sim/run/plan_cost.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/run/run_step.hpp"

namespace packsim {
namespace {

constexpr int kPointsPerOctave = 16;  // points of document lengths, as attention is no straight line

// Up to here a pack takes as long as its weights take to be read: curves of few points have none in between.
constexpr std::int64_t kFewTokens = 64;

// Token counts from 1 to `last`, both included.
std::vector<std::int64_t> grid_up_to(std::int64_t last, int points_per_octave) {
  std::vector<std::int64_t> points;
  for (int i = 0;; ++i) {
    const std::int64_t point = std::llround(std::exp2(static_cast<double>(i) / points_per_octave));
    if (points_per_octave < kPointsPerOctave && point > 1 && point < kFewTokens) continue;
    if (point >= last) break;
    if (points.empty() || point > points.back()) points.push_back(point);
  }
  points.push_back(last);
  return points;
}

// Times of steps of one rank whose packs have equally many tokens and no attention.
class RankTimes {
 public:
  explicit RankTimes(StepPricer& pricer)
      : pricer_(pricer), plan_(price_plan(pricer)), arena_({.detail = StepDetail::micro_batches}) {}

  double step_s(std::int64_t tokens_per_gpu, int n_packs) {
    return step_s(price_of(tokens_per_gpu), n_packs);
  }

  double pack_s(std::int64_t tokens_per_gpu, PackTimes& known) {
    const auto found = known.find(tokens_per_gpu);
    return found != known.end() ? found->second
                                : known.emplace(tokens_per_gpu, added_s(tokens_per_gpu)).first->second;
  }

 private:
  // What one more pack adds; pipelines need whole rounds of packs.
  double added_s(std::int64_t tokens_per_gpu) {
    const MicroBatchPrice price = price_of(tokens_per_gpu);
    const int round = plan_.plan.pp_degree;
    return (step_s(price, 2 * round) - step_s(price, round)) / round;
  }

  MicroBatchPrice price_of(std::int64_t tokens_per_gpu) {
    return pricer_.micro_batch(tokens_per_gpu * pricer_.plan().sequence_gpus(), {});
  }

  double step_s(const MicroBatchPrice& price, int n_packs) {
    const RankWork work{
        .plan = &plan_,
        .micro_batches = std::vector<RankMicroBatch>(static_cast<std::size_t>(n_packs), &price)};
    return to_seconds(run_step({&work, 1}, arena_).end);
  }

  StepPricer& pricer_;
  PricedPlan plan_;
  StepArena arena_;
};

// Attention of all layers for one micro-batch, in the mean pipeline stage.
double of_layers(const StepPricer& pricer, const StepPricer::AttentionCost& layer) {
  const ParallelPlan& plan = pricer.plan();
  const double recomputed = plan.recomputes_attention() ? plan.gc_layers : 0;
  return (pricer.model().n_layers * (layer.forward_s + layer.backward_s) + recomputed * layer.forward_s) /
         plan.pp_degree;
}

}  // namespace

double fill_rounds(const ParallelPlan& plan) {
  return static_cast<double>(plan.pp_degree - 1) / plan.virtual_stages;
}

PlanCost plan_cost(StepPricer& pricer, std::int64_t capacity_tokens, int points_per_octave,
                   PackTimes* known) {
  PackTimes own;
  PackTimes& times = known == nullptr ? own : *known;
  const int gpus = pricer.plan().sequence_gpus();
  RankTimes rank(pricer);
  const double launch_s = of_layers(pricer, pricer.attention_launch());
  PlanCost cost;
  CostCurve& tokens = cost.pack.tokens_s;
  for (const std::int64_t point : grid_up_to((capacity_tokens + gpus - 1) / gpus, points_per_octave)) {
    tokens.tokens.push_back(point * gpus);
    tokens.time_s.push_back(rank.pack_s(point, times) + launch_s);
  }
  CostCurve& document = cost.pack.document_s;
  for (const std::int64_t point : grid_up_to(capacity_tokens, kPointsPerOctave)) {
    document.tokens.push_back(point);
    document.time_s.push_back(of_layers(pricer, pricer.document_cost(static_cast<std::int32_t>(point))));
  }
  cost.pack.longest_s_per_token = of_layers(pricer, pricer.longest_cost_per_token());
  if (const int steps = pricer.plan().sequence.ring; steps > 1 && !pricer.plan().gathers_keys()) {
    for (const std::int64_t point : tokens.tokens) {
      cost.pack.transfers_s.tokens.push_back(point);
      cost.pack.transfers_s.time_s.push_back(of_layers(pricer, pricer.ring_transfers(point)));
    }
    cost.pack.hiding_fraction = static_cast<double>(steps - 1) / steps;
  }
  const int round = pricer.plan().pp_degree;
  const std::int64_t full = tokens.tokens.back() / gpus;
  cost.step_s =
      rank.step_s(full, round) - (round + fill_rounds(pricer.plan())) * (tokens.time_s.back() - launch_s);
  return cost;
}

}  // namespace packsim
