#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "packing/mixing/mixture.hpp"
#include "packing/policies/policies.hpp"

namespace packsim {

/// How the samples of a subset become groups.
struct GroupCut {
  enum class Kind : std::uint8_t {
    whole,      ///< one group
    values,     ///< one group for each value of the column, ascending
    quantiles,  ///< n_groups equal parts of the samples sorted by the column
    parts,      ///< so many samples each, in the order of the file
  };
  Kind kind = Kind::whole;
  std::string column = {};  ///< of the length file; "tokens" is the length
  int n_groups = 1;
  std::vector<std::int64_t> parts_samples = {};
};

/// An assumed reward of an arm, in place of a training: end + (start - end) x 2^(-draws / half_life_draws),
/// where draws counts those of the arm so far. It holds for the arms that are named; later curves replace
/// earlier ones.
struct RewardCurve {
  std::optional<std::size_t> subset = {};  ///< none: every subset
  std::optional<int> group = {};           ///< none: every group
  double start = 1;
  double end = 0;
  double half_life_draws = 1;
};

/// Rewards that were recorded in a training, for updates from this step on.
struct RecordedRewards {
  std::int64_t step = 0;
  MixtureRewards rewards;
};

/// Where the passes run that measure rewards.
enum class ProbePlacement : std::uint8_t { spread, repeated };
inline constexpr std::array<PolicyName<ProbePlacement>, 2> kProbePlacementNames = {{
    {ProbePlacement::spread, "spread", "each once, on the GPUs that are free first"},
    {ProbePlacement::repeated, "repeated", "all of them on every data-parallel rank, as HBO's code does"},
}};

/// The passes that measure rewards.
struct ProbeSpec {
  ProbePlacement placement = ProbePlacement::spread;
  bool packs = true;            ///< whether samples share packs; else each is a micro-batch of its own
  bool overlaps = false;        ///< whether forward passes run while ranks wait in the step before an update
  int gradient_samples = 8;     ///< of each group, forward and backward, for the subset's reward
  int perplexity_samples = 16;  ///< of each group, forward, for the group's reward
  int perplexity_times = 1;     ///< how often the groups' rewards are measured in an update; HBO's code: 4
  double actor_update_s = 0;    ///< time in which all GPUs wait for the actors
};

/// A mixture whose probabilities may move. Its subsets are the sources of LengthSpec::mix.
struct MixingSpec {
  std::string policy;     ///< MixingPolicy::name
  MixingOptions options;  ///< including the recorded probabilities
  Replacement replacement = Replacement::with;
  std::optional<std::int64_t> draws;    ///< of the whole run; if not set, as many as there are samples
  std::int64_t update_every_steps = 0;  ///< a window is so many steps' worth of tokens
  std::vector<RewardCurve> curves;
  std::vector<RecordedRewards> rewards;  ///< ascending steps; empty: the curves
  std::string trace;                     ///< the file of recorded probabilities and rewards
  ProbeSpec probes;
};

}  // namespace packsim
