#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/framework_profile.hpp"
#include "models/step/step_pricer.hpp"

namespace packsim {

/// The factors that price time, in the order of kFrameworkNumbers.
using TimeFactors = std::array<double, kNTimeFactors>;

TimeFactors time_factors(const FrameworkFactors& factors);
/// Sets these six and leaves the others.
void set_time_factors(FrameworkFactors& factors, const TimeFactors& values);

/// What a step takes, as a sum over the time factors.
struct StepTerms {
  double fixed_s = 0;       ///< what no factor is on: gradients and weights on their way
  TimeFactors part_s = {};  ///< what each factor is on, where it is 1

  double time_s(const TimeFactors& factors) const;
};

/// What the host launches, and what the GPU takes for it.
struct LaunchedTerms {
  double launched_s = 0;  ///< of the host, where a launch takes a second
  double n_launches = 0;
  double n_waits = 0;  ///< of the host for the GPU (LaunchedPhases)
  StepTerms run = {};
};

/// What the host launches in a step.
struct StepLaunches {
  std::vector<std::vector<LaunchedTerms>> micro_batches = {};  ///< phases of each, in order
  std::vector<LaunchedTerms> gradient_sums = {};  ///< of each unit, in each micro-batch but the first
  LaunchedTerms optimizer = {};
  bool reads_loss = false;  ///< whether the host waits behind each micro-batch

  /// How long the GPU waits for launches of launch_s, as in the simulator.
  double waits_s(const TimeFactors& factors, double launch_s) const;
};

/// A pack: its tokens with padding, and the lengths of its documents.
struct StepPack {
  std::int64_t tokens = 0;
  std::vector<std::int32_t> lengths_tokens = {};
};

/// Takes the steps of one plan without a pipeline apart: StepPricer prices them with one factor 1 and the
/// others 0.
///
/// Things come one after another, as in the simulator where nothing contends. Of weights and gradients that
/// travel beside computation only what has nothing to hide behind is counted: the first unit's weights, the
/// last unit's gradients, and the weights that the optimizer has changed.
///
/// step() is for a host that is always ahead. What the GPU waits for its host is no sum: launches() tells it.
class StepTermsPricer {
 public:
  /// model, cluster and hardware are kept by reference.
  StepTermsPricer(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                  const HardwareProfile& hardware);

  /// A step whose rank runs these packs, one micro-batch each.
  StepTerms step(std::span<const StepPack> packs);
  StepLaunches launches(std::span<const StepPack> packs);
  /// What attention takes in one micro-batch, where its factor is 1.
  double attention_s(const StepPack& pack);

 private:
  MicroBatchPrice price(std::size_t pricer, const StepPack& pack);
  double step_s(std::size_t pricer, std::span<const StepPack> packs);
  double micro_batch_s(std::size_t pricer, const StepPack& pack);
  std::vector<LaunchedTerms> phases(const StepPack& pack);

  std::vector<StepPricer> pricers_;  // one factor 1 each, in their order; then all 0
  StepPricer launching_;             // where a launch takes a second
};

}  // namespace packsim
