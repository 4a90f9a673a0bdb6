#pragma once

#include <cstdint>
#include <span>

#include "packing/batch_problem.hpp"

namespace packsim {

/// What samples take of a GPU, for strategies that balance it: nanoseconds by the prices of the setting's
/// only group or, where there are none, the linear and the quadratic part of a transformer's work in any unit
/// (kLinearWeightTokens, which the strategy must read).
class SampleWork {
 public:
  explicit SampleWork(const BatchProblem& problem);  // kept by reference

  std::int64_t of(ItemIndex item) const;
  std::int64_t of(std::span<const ItemIndex> items) const;

 private:
  const BatchProblem& problem_;
  bool has_prices_ = false;
  double s_per_token_ = 0;  // of a full pack, without attention
};

}  // namespace packsim
