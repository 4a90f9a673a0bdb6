#include <array>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/algorithms/counter_random.hpp"
#include "packing/mixing/actor.hpp"
#include "packing/mixing/draw_purpose.hpp"
#include "packing/mixing/mixing_policy.hpp"

namespace packsim::mixing_detail {
namespace {

void append_numbers(const Actor& actor, std::vector<double>& numbers) {
  const Actor::State& state = actor.state();
  for (const std::vector<double>* part : {&state.logits, &state.first_moments, &state.second_moments})
    numbers.insert(numbers.end(), part->begin(), part->end());
  numbers.push_back(static_cast<double>(state.n_steps));
}

// Takes the numbers of an actor off the front.
Actor actor_of_numbers(std::size_t n_arms, std::span<const double>& numbers) {
  const auto take = [&](std::size_t n) {
    if (numbers.size() < n)
      throw std::invalid_argument("state: expected the numbers of all actors, got fewer");
    std::vector<double> taken(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(n));
    numbers = numbers.subspan(n);
    return taken;
  };
  Actor::State state{.logits = take(n_arms), .first_moments = take(n_arms), .second_moments = take(n_arms)};
  const double n_steps = take(1).front();
  constexpr double kMostSteps = 9007199254740992.0;  // up to which double counts
  if (!(n_steps >= 0 && n_steps <= kMostSteps))
    throw std::invalid_argument("state: expected a number of steps, got " + std::to_string(n_steps));
  state.n_steps = static_cast<std::int64_t>(n_steps);
  return Actor(std::move(state));
}

// Rewards over their mean, as HBO's code has local ones; REINFORCE then takes equally large steps in all
// subsets. All arms of no reward stay so.
std::vector<double> over_mean(std::span<const double> rewards) {
  const double mean =
      std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(rewards.size());
  std::vector<double> scaled(rewards.begin(), rewards.end());
  if (mean > 0) {
    for (double& reward : scaled) reward /= mean;
  }
  return scaled;
}

class Hbo final : public MixingState {
 public:
  Hbo(const Arms& arms, const MixingOptions& options)
      : options_(options), global_(tempered(subset_sizes(arms), options.temperature)) {
    for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset) {
      const std::size_t n = arms.n_groups(subset);
      local_.emplace_back(std::vector<double>(n, 1 / static_cast<double>(n)));
    }
  }

  MixtureProbabilities probabilities(std::int64_t /*step*/) const override {
    MixtureProbabilities p{global_.probabilities(), {}};
    for (const Actor& actor : local_) p.groups.push_back(actor.probabilities());
    return p;
  }

  void update(const MixtureRewards& rewards, std::int64_t n_updates) override {
    const bool has_groups = !rewards.groups.empty();
    if (rewards.subsets.size() != global_.n_arms() ||
        (has_groups && rewards.groups.size() != local_.size())) {
      throw std::invalid_argument("rewards: expected those of " + std::to_string(local_.size()) +
                                  " subsets and their groups, got " + std::to_string(rewards.subsets.size()) +
                                  " and " + std::to_string(rewards.groups.size()));
    }
    const auto n = static_cast<std::uint64_t>(n_updates);
    Actor global = global_;
    learn(global, rewards.subsets, {n, 0, 0});
    std::vector<Actor> local = local_;
    for (std::size_t subset = 0; has_groups && subset < local.size(); ++subset) {
      if (rewards.groups[subset].size() != local[subset].n_arms()) {
        throw std::invalid_argument("rewards: subset " + std::to_string(subset) + ": expected those of " +
                                    std::to_string(local[subset].n_arms()) + " groups, got " +
                                    std::to_string(rewards.groups[subset].size()));
      }
      const std::vector<double> scaled = over_mean(rewards.groups[subset]);
      for (int k = 0; k < options_.local_updates; ++k)
        learn(local[subset], scaled, {n, subset + 1, static_cast<std::uint64_t>(k)});
    }
    global_ = std::move(global);
    local_ = std::move(local);
  }

  std::vector<double> numbers() const override {
    std::vector<double> numbers;
    append_numbers(global_, numbers);
    for (const Actor& actor : local_) append_numbers(actor, numbers);
    return numbers;
  }

  void set_numbers(std::span<const double> numbers) override {
    Actor global = actor_of_numbers(global_.n_arms(), numbers);
    std::vector<Actor> local;
    for (const Actor& actor : local_) local.push_back(actor_of_numbers(actor.n_arms(), numbers));
    if (!numbers.empty()) throw std::invalid_argument("state: expected the numbers of all actors, got more");
    global_ = std::move(global);
    local_ = std::move(local);
  }

 private:
  // Which update of which actor it is.
  struct UpdateName {
    std::uint64_t n_updates;
    std::uint64_t actor;
    std::uint64_t repetition;
  };

  void learn(Actor& actor, std::span<const double> rewards, const UpdateName& name) const {
    if (options_.update == ActorUpdate::all_arms)
      return actor.learn_all_arms(rewards, options_.actor_steps, options_.learning_rate);
    if (rewards.size() != actor.n_arms())
      throw std::invalid_argument("rewards: expected " + std::to_string(actor.n_arms()) + ", got " +
                                  std::to_string(rewards.size()));
    for (int k = 0; k < options_.actor_steps; ++k) {
      const double u = open_uniform(
          word_of_name(options_.seed, {draw_purpose(DrawPurpose::actor), name.n_updates, name.actor,
                                       name.repetition, static_cast<std::uint64_t>(k)}));
      const std::size_t arm = drawn_index(actor.probabilities(), u);
      actor.reinforce(arm, rewards[arm], options_.learning_rate);
    }
  }

  MixingOptions options_;
  Actor global_;
  std::vector<Actor> local_;
};

std::unique_ptr<MixingState> make_hbo(const Arms& arms, const MixingOptions& options) {
  if (options.actor_steps < 1)
    throw std::invalid_argument("actor_steps: expected at least 1, got " +
                                std::to_string(options.actor_steps));
  if (options.local_updates < 1)
    throw std::invalid_argument("local_updates: expected at least 1, got " +
                                std::to_string(options.local_updates));
  if (!(options.learning_rate > 0) || options.learning_rate > 1)
    throw std::invalid_argument("learning_rate: expected a number above 0 and up to 1, got " +
                                std::to_string(options.learning_rate));
  return std::make_unique<Hbo>(arms, options);
}

constexpr std::array<std::string_view, 5> kHboOptions = {"temperature", "update", "learning_rate",
                                                         "actor_steps", "local_updates"};

}  // namespace

extern const MixingPolicy hbo = {
    .name = "hbo",
    .summary =
        "A global actor over subsets by gradient norms, a local one over each subset's groups by what is "
        "left to learn.",
    .source = "HBO, arXiv 2505.12300; weixuan-wang123/HBO @ 800fe14",
    .needs = RewardNeed::probes,
    .options = kHboOptions,
    .make = make_hbo,
};

}  // namespace packsim::mixing_detail
