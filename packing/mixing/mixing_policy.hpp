#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "packing/mixing/arms.hpp"

namespace packsim {

/// The probabilities that a draw is from a subset, and from each of its groups once the subset is chosen.
struct MixtureProbabilities {
  std::vector<double> subsets;              ///< [n_subsets]; they add up to 1
  std::vector<std::vector<double>> groups;  ///< [n_subsets][n_groups]; those of a subset add up to 1

  double of(std::size_t subset, std::size_t group) const { return subsets[subset] * groups[subset][group]; }
  bool operator==(const MixtureProbabilities&) const = default;
};

/// What is measured for an update, each finite and at least 0.
struct MixtureRewards {
  std::vector<double> subsets;  ///< [n_subsets]
  /// [n_subsets][n_groups]; empty: the groups' probabilities stay as they are.
  std::vector<std::vector<double>> groups;
};

/// Probabilities that somebody has recorded, or decided. They hold from this optimizer step on.
struct RecordedProbabilities {
  std::int64_t step = 0;
  MixtureProbabilities probabilities;
};

/// How an actor learns from rewards (packing/mixing/actor.hpp).
enum class ActorUpdate : std::uint8_t {
  all_arms,   ///< as coded in HBO: Adam on all arms
  reinforce,  ///< as HBO's paper writes it: one step for each arm that was drawn
};

/// What policies may be told. Each reads what its row says.
struct MixingOptions {
  std::vector<double> weights = {};  ///< [n_subsets] above 0, or empty: the number of samples of each subset
  double temperature = 1;            ///< above 0; infinity makes all subsets equally likely
  ActorUpdate update = ActorUpdate::all_arms;
  double learning_rate = 1e-4;  ///< of actors
  int actor_steps = 200;        ///< of Adam in an update, or arms drawn in one with ActorUpdate::reinforce
  int local_updates = 1;        ///< of the local actors for each update; HBO's code makes 4
  double smoothing = 0.9;       ///< of odm's estimated rewards: the part of the old estimate that is kept
  std::vector<RecordedProbabilities> recorded = {};  ///< ascending steps, the first of them 0
  std::uint64_t seed = 1024;                         ///< of the arms that ActorUpdate::reinforce draws
};

/// What a policy needs to be told at an update, which decides what an update costs.
enum class RewardNeed : std::uint8_t {
  none,
  /// A gradient norm of every subset, and a perplexity beside that of the start for every group: passes that
  /// train nothing.
  probes,
  training_loss,  ///< the mean loss of every subset's samples, which training has anyway
};

/// A policy at work: probabilities, and what it makes of rewards.
class MixingState {
 public:
  virtual ~MixingState() = default;
  /// The probabilities of the draws of optimizer step `step`.
  virtual MixtureProbabilities probabilities(std::int64_t step) const = 0;
  /// rewards: of the kind that the policy needs. n_updates: how many updates there have been before.
  virtual void update(const MixtureRewards& rewards, std::int64_t n_updates);
  /// All that updates have changed, as numbers.
  virtual std::vector<double> numbers() const { return {}; }
  /// Goes on from numbers() of a policy with the same arms and options. Throws std::invalid_argument for
  /// other numbers.
  virtual void set_numbers(std::span<const double> numbers);
};

/// A policy: how the probabilities of a mixture begin and move.
struct MixingPolicy {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  RewardNeed needs = RewardNeed::none;
  std::span<const std::string_view> options = {};  ///< names of those MixingOptions that it reads
  /// Throws std::invalid_argument for options that do not fit the arms. The arms must outlive the state.
  std::unique_ptr<MixingState> (*make)(const Arms& arms, const MixingOptions& options) = nullptr;
};

/// Every policy.
std::span<const MixingPolicy> mixing_policies();
/// The policy of that name, or null.
const MixingPolicy* find_mixing_policy(std::string_view name);
/// The same; throws std::invalid_argument that lists the names.
const MixingPolicy& known_mixing_policy(std::string_view name);

/// q_i^(1/temperature) over their sum, where q is weights over their sum; equal parts for an infinite
/// temperature (HBO, arXiv 2505.12300). Throws std::invalid_argument for weights or a temperature that are
/// not above 0.
std::vector<double> tempered(std::span<const double> weights, double temperature);

/// The number of samples of each subset.
std::vector<double> subset_sizes(const Arms& arms);
/// Each group of a subset by its share of the subset's samples, so that these are equally likely.
std::vector<std::vector<double>> groups_by_size(const Arms& arms);

}  // namespace packsim
