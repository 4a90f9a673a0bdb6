#pragma once

#include <array>
#include <map>

#include "models/step/price_account.hpp"
#include "models/step/step_pricer.hpp"

namespace packsim {

/// Adds up the GPU time of micro-batches and steps of one plan by the evidence for their prices, over all
/// GPUs of the rank that runs them.
class PlanAccount {
 public:
  /// The pricer is kept by reference.
  explicit PlanAccount(StepPricer& pricer);

  /// Adds `times` micro-batches of this price, each of which goes through all chunks. price: from the same
  /// pricer.
  void add_micro_batches(const MicroBatchPrice& price, double times);
  /// Adds gradients, weights and the optimizer of n_steps steps of one rank. The steps have n_micro_batches
  /// micro-batches in all, of which n_later are not the first of their step.
  void add_steps(double n_steps, double n_micro_batches, double n_later);

  /// The sum of all that was added. It has the kernels as well if the pricer keeps_kernels().
  PriceAccount total() const;

 private:
  // Number of layers of all chunks that have this added segment.
  double n_layers(const AddedSegment& added) const;
  void add_host(const MicroBatchPrice& price, double times);
  // A wait for the host, and what it would be for a slower one.
  void add_waits(std::int64_t wait_ns, std::int64_t of_slower_ns, double times);
  void count_transfers(PriceAccount& total, std::int64_t tokens_per_gpu, double times) const;

  StepPricer& pricer_;
  MicroBatchCurves curves_;
  // Layers of all chunks, by LayerForm.
  std::array<double, kNLayerForms> of_form_ = {};
  double all_layers_ = 0;
  double attention_recomputed_ = 0;  // those that run attention once more
  double gpus_ = 0;                  // of one pipeline stage
  int n_sends_in_node_ = 0;          // by a micro-batch, forward
  int n_sends_between_ = 0;
  std::map<std::int64_t, double> tokens_;  // how often micro-batches of so many on a GPU run
  PriceAccount account_;                   // of all else
  bool host_is_late_ = false;              // whether what is launched behind a micro-batch is waited for
};

}  // namespace packsim
