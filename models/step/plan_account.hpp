#pragma once

#include <array>
#include <map>

#include "models/step/price_account.hpp"
#include "models/step/step_pricer.hpp"

namespace packsim {

/// Adds up what the micro-batches and steps of one plan rest on, over all GPUs of the rank that runs them.
class PlanAccount {
 public:
  /// Kept by reference.
  explicit PlanAccount(StepPricer& pricer);

  /// A micro-batch of the pricer that goes through all chunks; `times` of them.
  void add_micro_batches(const MicroBatchPrice& price, double times);
  /// Gradients, weights and the optimizer of n_steps steps of one rank. They have n_micro_batches in all, of
  /// which n_later are not the first of their step.
  void add_steps(double n_steps, double n_micro_batches, double n_later);

  PriceAccount total() const;

 private:
  // Layers of all chunks.
  struct Layers {
    double all = 0;
    double recomputed = 0;
  };

  struct TimesRun {
    const TokenAccounts* account = nullptr;
    double times = 0;
  };
  void add_tokens(const TokenAccounts& account, double times);

  StepPricer& pricer_;
  MicroBatchCurves curves_;
  std::array<Layers, 2> layers_;  // by LayerKind
  double gpus_ = 0;               // of one pipeline stage
  int n_sends_in_node_ = 0;       // of a micro-batch, forward
  int n_sends_between_ = 0;
  std::map<std::int64_t, TimesRun> tokens_;  // by tokens a GPU
  PriceAccount account_;                     // of all else
};

}  // namespace packsim
