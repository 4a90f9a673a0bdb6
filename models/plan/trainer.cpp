#include "models/plan/trainer.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

namespace packsim {
namespace {

// The words of a list, or the value alone.
std::vector<PlanValue> elements_of(const PlanValue& value) {
  const auto* const words = std::get_if<std::vector<std::string>>(&value);
  if (words == nullptr) return {value};
  return {words->begin(), words->end()};
}

// Whether a way has the default of the key only if its limit says so.
bool must_be_said(const PlanKey& key, const KeyLimit* limit) {
  return key.name() == "zero_stage" || (key.name() == "cp_exchange" && limit != nullptr);
}

bool allows(const KeyLimit* limit, const PlanKey& key, const PlanValue& value) {
  if (!must_be_said(key, limit) && value == default_value(key)) return true;
  if (limit == nullptr) return false;
  return limit->values.empty() || std::ranges::all_of(elements_of(value), [&](const PlanValue& one) {
           return std::ranges::find(limit->values, one) != limit->values.end();
         });
}

std::string allowed_text(const KeyLimit* limit, const PlanKey& key) {
  std::string text = must_be_said(key, limit) ? "" : plan_value_text(default_value(key));
  if (limit == nullptr) return text;
  for (const PlanValue& value : limit->values) text += (text.empty() ? "" : " or ") + plan_value_text(value);
  return text;
}

bool allows_layers(LayerCounts counts, int n_layers, const ParallelPlan& plan) {
  if (plan.gc_layers == 0 || plan.gc_layers == n_layers) return true;
  switch (counts) {
    case LayerCounts::all_or_none:
      return false;
    case LayerCounts::every_nth:
      return every_nth_layer(n_layers, plan.gc_layers).has_value();
    case LayerCounts::any_of_whole:
      return plan.checkpointing == Checkpointing::full;
    case LayerCounts::any:
      return true;
  }
  return true;
}

bool allows_offload(OffloadedTogether together, const ParallelPlan& plan) {
  const Offload& offload = plan.offload;
  switch (together) {
    case OffloadedTogether::none:
      return true;
    case OffloadedTogether::gradients:
      return plan.zero_stage < 2 || offload.gradients == offload.optimizer;
    case OffloadedTogether::states:
      return offloaded_states(plan) != StatesOffloaded::some;
  }
  return true;
}

std::string_view text_of(LayerCounts counts) {
  return std::ranges::find(kLayerCountNames, counts, &PolicyName<LayerCounts>::value)->summary;
}

std::vector<PlanMistake> way_mistakes(const std::string& who, const TrainerWay& way, const Transformer& model,
                                      const ParallelPlan& plan) {
  std::vector<PlanMistake> mistakes;
  for (const std::string_view name : kTrainerKeys) {
    const PlanKey& key = *find_plan_key(name);
    const auto found = std::ranges::find(way.limits, &key, &KeyLimit::key);
    const KeyLimit* const limit = found == way.limits.end() ? nullptr : &*found;
    const PlanValue value = key.get(plan);
    const bool has_no_effect = name == "cp_exchange" && plan.sequence.ring == 1;
    if (has_no_effect || allows(limit, key, value)) continue;
    mistakes.push_back({.keys = {std::string(name)},
                        .expected = allowed_text(limit, key) + " for " + who,
                        .got = plan_value_text(value)});
  }
  const bool gathers = plan.gathers_keys() && plan.sequence.ulysses > 1;
  if (gathers && !way.gathers_beside_ulysses) {
    mistakes.push_back({.keys = {"sp_degree"},
                        .expected = "1 where keys and values are gathered for " + who,
                        .got = std::to_string(plan.sequence.ulysses)});
  }
  if (!allows_layers(way.checkpointed_layers, model.n_layers, plan)) {
    mistakes.push_back({.keys = {"gc_layers"},
                        .expected = std::string(text_of(way.checkpointed_layers)) + " for " + who,
                        .got = std::to_string(plan.gc_layers)});
  }
  const int heads_gpus = plan.tp_degree * plan.sequence.ulysses;
  if (!way.copies_key_value_heads && plan.sequence.ulysses > 1 && model.n_kv_heads % heads_gpus != 0) {
    mistakes.push_back({.keys = {"sp_degree"},
                        .expected = "a degree that, times tp_degree, divides the " +
                                    std::to_string(model.n_kv_heads) + " key-value heads for " + who,
                        .got = std::to_string(plan.sequence.ulysses)});
  }
  const int most_ulysses = std::gcd(model.n_kv_heads, plan.sequence.gpus_per_pack());
  if (way.ulysses_first && plan.sequence.ulysses != most_ulysses) {
    mistakes.push_back({.keys = {"sp_degree"},
                        .expected = std::to_string(most_ulysses) + ", as " +
                                    std::to_string(model.n_kv_heads) + " key-value heads allow it, for " +
                                    who,
                        .got = std::to_string(plan.sequence.ulysses)});
  }
  if (!allows_offload(way.offloaded_together, plan)) {
    mistakes.push_back(
        {.keys = {"offload"},
         .expected = std::string(std::ranges::find(kOffloadedTogetherNames, way.offloaded_together,
                                                   &PolicyName<OffloadedTogether>::value)
                                     ->summary) +
                     " together for " + who,
         .got = plan_value_text(find_plan_key("offload")->get(plan))});
  }
  return mistakes;
}

}  // namespace

std::optional<int> every_nth_layer(int n_layers, int gc_layers) {
  for (int n = 1; n <= n_layers; ++n) {
    if ((n_layers + n - 1) / n == gc_layers) return n;
  }
  return std::nullopt;
}

StatesOffloaded offloaded_states(const ParallelPlan& plan) {
  const Offload& offload = plan.offload;
  if (!offload.optimizer && !offload.gradients && !offload.weights) return StatesOffloaded::none;
  const bool all = offload.optimizer && offload.gradients && (offload.weights || plan.zero_stage < 3);
  return all ? StatesOffloaded::all : StatesOffloaded::some;
}

std::string way_text(const TrainerWay& way) {
  std::string limits;
  for (const KeyLimit& limit : way.limits) {
    limits += (limits.empty() ? "" : "; ") + std::string(limit.key->name());
    for (const PlanValue& value : limit.values)
      limits += (&value == limit.values.data() ? " " : ", ") + plan_value_text(value);
  }
  return way.name + " (" + limits + ")";
}

bool Trainer::is_own(std::string_view strategy) const {
  return std::ranges::find(own_strategies, strategy) != own_strategies.end();
}

std::vector<PlanMistake> trainer_mistakes(const Trainer* trainer, const Transformer& model,
                                          const ParallelPlan& plan) {
  if (trainer == nullptr) return {};
  std::optional<std::vector<PlanMistake>> fewest;
  for (const TrainerWay& way : trainer->ways) {
    std::vector<PlanMistake> mistakes = way_mistakes(trainer->name + " (" + way.name + ")", way, model, plan);
    if (!fewest || mistakes.size() < fewest->size()) fewest = std::move(mistakes);
  }
  return fewest.value_or(std::vector<PlanMistake>{});
}

const TrainerWay* way_of(const Trainer& trainer, const Transformer& model, const ParallelPlan& plan) {
  for (const TrainerWay& way : trainer.ways) {
    if (way_mistakes("", way, model, plan).empty()) return &way;
  }
  return nullptr;
}

int trainer_layers(const Trainer* trainer, const Transformer& model, ParallelPlan plan, int least) {
  for (plan.gc_layers = least; trainer != nullptr && plan.gc_layers <= model.n_layers; ++plan.gc_layers) {
    if (trainer_mistakes(trainer, model, plan).empty()) return plan.gc_layers;
  }
  return least;
}

std::string trainer_refusal(const Trainer* trainer, const Strategy& strategy) {
  if (trainer == nullptr || trainer->is_own(strategy.name)) return {};
  if (!trainer->takes_plans) return "a strategy of its own for " + trainer->name + ", which takes no plans";
  const bool has_own_counts = strategy.forms_iterations() && !strategy.chooses_groups;
  if (trainer->micro_batches == MicroBatchCounts::run && has_own_counts) {
    return "a strategy with as many micro-batches in each step for " + trainer->name +
           ", which has one number of them in a run";
  }
  return {};
}

}  // namespace packsim
