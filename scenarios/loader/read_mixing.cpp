#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

constexpr int kMostActorSteps = 10'000;
constexpr int kMostProbes = 1024;

// Subsets are told apart by their names.
void check_names(JsonReader& reader, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto before = std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]);
    if (before == names.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    reader.refuse("policy", "a mix whose sources have different names (/lengths/mix/*/name)",
                  fmt::format("\"{}\" twice", names[i]));
    return;
  }
}

RewardCurve read_curve(JsonReader& reader, const std::vector<std::string>& names) {
  constexpr double kMostReward = 1e9;
  RewardCurve curve;
  if (reader.value("subset") != nullptr) curve.subset = reader.one_of_own("subset", names);
  curve.group = reader.optional_integer("group", 0, kMostMixtureGroups - 1);
  curve.start = reader.number("start", 0, kMostReward);
  curve.end = reader.number("end", 0, kMostReward);
  curve.half_life_draws = reader.positive("half_life_draws");
  return curve;
}

ProbeSpec read_probes(JsonReader reader) {
  constexpr double kMostActorUpdate_s = 3600;
  ProbeSpec probes;
  if (reader.silent()) return probes;
  probes.placement = reader.one_of("placement", kProbePlacementNames, probes.placement);
  probes.packs = reader.boolean("packs", probes.placement == ProbePlacement::spread);
  probes.overlaps = reader.boolean("overlaps", false);
  if (probes.overlaps && probes.placement == ProbePlacement::repeated)
    reader.refuse("overlaps",
                  "false where placement is repeated, as the rank that is waited for repeats them too");
  probes.gradient_samples = reader.integer("gradient_samples", 1, kMostProbes, probes.gradient_samples);
  probes.perplexity_samples = reader.integer("perplexity_samples", 1, kMostProbes, probes.perplexity_samples);
  probes.perplexity_times = reader.integer("perplexity_times", 1, 64, probes.perplexity_times);
  if (reader.value("actor_update_s") != nullptr)
    probes.actor_update_s = reader.number("actor_update_s", 0, kMostActorUpdate_s);
  return probes;
}

// The options that some policy reads; those of others are mistakes.
void read_options(JsonReader& reader, const MixingPolicy* policy, const LengthSpec& lengths,
                  MixingOptions& options) {
  const auto reads = [&](std::string_view name) {
    const bool is_read =
        policy == nullptr || std::ranges::find(policy->options, name) != policy->options.end();
    if (!is_read && reader.value(name) != nullptr)
      reader.refuse(name, fmt::format("no {} for policy {}", name, policy->name));
    return is_read;
  };
  if (reads("temperature") && reader.value("temperature") != nullptr)
    options.temperature = reader.positive("temperature");
  constexpr std::array<PolicyName<ActorUpdate>, 2> kUpdateNames = {
      {{ActorUpdate::all_arms, "all_arms", ""}, {ActorUpdate::reinforce, "reinforce", ""}}};
  if (reads("update")) options.update = reader.one_of("update", kUpdateNames, options.update);
  if (reads("learning_rate") && reader.value("learning_rate") != nullptr)
    options.learning_rate = reader.number("learning_rate", std::numeric_limits<double>::min(), 1);
  if (reads("actor_steps"))
    options.actor_steps = reader.integer("actor_steps", 1, kMostActorSteps, options.actor_steps);
  if (reads("local_updates"))
    options.local_updates = reader.integer("local_updates", 1, 64, options.local_updates);
  if (reads("smoothing") && reader.value("smoothing") != nullptr)
    options.smoothing = reader.number("smoothing", 0, 0.999999);
  const bool weighted = std::ranges::any_of(
      lengths.mix, [](const LengthSource& source) { return source.mixing_weight.has_value(); });
  if (!weighted || policy == nullptr) return;
  if (std::ranges::find(policy->options, std::string_view("weights")) == policy->options.end()) {
    reader.refuse("policy", "static, which has weights, as sources of the mix have a mixing_weight",
                  fmt::format("\"{}\"", policy->name));
    return;
  }
  for (const LengthSource& source : lengths.mix) {
    if (!source.mixing_weight)
      reader.refuse("policy", "a mixing_weight of every source of the mix, as some have one",
                    fmt::format("none of \"{}\"", source.name));
    options.weights.push_back(source.mixing_weight.value_or(1));
  }
}

void check_rewards(JsonReader& reader, const MixingPolicy& policy, const MixingSpec& mixing) {
  if (policy.needs == RewardNeed::none) {
    if (policy.name != "recorded" && reader.has("trace"))
      reader.refuse("trace", fmt::format("no trace for policy {}", policy.name));
    if (reader.has("curves")) reader.refuse("curves", fmt::format("no curves for policy {}", policy.name));
    if (reader.has("probes")) reader.refuse("probes", fmt::format("no probes for policy {}", policy.name));
    for (const RecordedProbabilities& row : mixing.options.recorded) {
      if (policy.name != "recorded" || row.step % mixing.update_every_steps == 0) continue;
      reader.refuse("update_every_steps",
                    "a divisor of every step of the trace, at which probabilities change",
                    fmt::format("{} beside step {}", mixing.update_every_steps, row.step));
      break;
    }
    if (policy.name == "recorded" && mixing.options.recorded.empty() && !reader.has("trace"))
      reader.refuse("trace", "a file with recorded probabilities for policy recorded", "none");
    return;
  }
  if (policy.needs == RewardNeed::training_loss && reader.has("probes"))
    reader.refuse("probes",
                  fmt::format("no probes for policy {}, whose losses training has anyway", policy.name));
  if (!mixing.rewards.empty() && mixing.rewards.front().step > mixing.update_every_steps) {
    reader.refuse(
        "trace",
        fmt::format("rewards from step {} on, of the first update, or before", mixing.update_every_steps),
        fmt::format("rewards from step {} on", mixing.rewards.front().step));
  }
  if (reader.has("trace") == reader.has("curves")) {
    reader.refuse(
        "curves",
        fmt::format("either a trace with recorded rewards, or curves that are assumed, for policy {}",
                    policy.name),
        reader.has("trace") ? "both" : "neither");
  }
}

}  // namespace

std::optional<MixingSpec> read_mixing(JsonReader reader, const LengthSpec& lengths,
                                      const TrainingSpec& training, std::uint32_t seed,
                                      const std::string& scenario_folder, const DataPaths& data,
                                      Problems& problems) {
  if (reader.silent()) return std::nullopt;
  MixingSpec mixing;
  const std::vector<std::string> names = names_in(lengths.mix);
  const MixingPolicy* policy = reader.row_of("policy", mixing_policies());
  mixing.policy = (policy != nullptr ? *policy : mixing_policies().front()).name;
  check_names(reader, names);
  if (training.epochs != 1)
    reader.refuse("draws", "1 epoch in /training/epochs, as draws say how long the run is",
                  fmt::format("{} epochs", training.epochs));
  mixing.draws = reader.optional_integer<std::int64_t>("draws", 1, kMostDrawnSamples);
  const bool replaces = reader.boolean("with_replacement", true);
  mixing.replacement = replaces ? Replacement::with : Replacement::without;
  mixing.update_every_steps = reader.integer<std::int64_t>("update_every_steps", 1, 1'000'000'000);
  mixing.options.seed = seed;
  read_options(reader, policy, lengths, mixing.options);
  if (reader.value("curves") != nullptr) {
    for (JsonReader& curve : reader.objects("curves")) mixing.curves.push_back(read_curve(curve, names));
  }
  mixing.probes = read_probes(reader.optional_object("probes"));
  const std::string trace = reader.string("trace", "");
  if (!trace.empty()) {
    const FoundFile file = find_lengths_file(trace, scenario_folder, data);
    if (!file.found()) {
      reader.refuse("trace", file.expected, file.got);
    } else {
      mixing.trace = trace;
      read_mixing_trace(file.path, lengths, problems, mixing);
    }
  }
  if (policy != nullptr) check_rewards(reader, *policy, mixing);
  return mixing;
}

}  // namespace packsim
