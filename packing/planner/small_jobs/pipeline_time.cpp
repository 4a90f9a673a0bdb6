#include "packing/planner/small_jobs/pipeline_time.hpp"

#include <algorithm>
#include <cmath>

namespace packsim {
namespace {

double forward_s(const PipelineTime::Pack& pack) {
  return pack.fixed_s + kForwardPart * (pack.time_s - pack.fixed_s);
}

}  // namespace

PipelineTime::PipelineTime(const RoundShape& shape)
    : n_stages_(1 + static_cast<std::size_t>(std::lround(std::max(0.0, shape.fill_rounds)))) {
  if (n_stages_ > 1) other_stages_ = shape.fill_rounds / static_cast<double>(n_stages_ - 1);
}

double PipelineTime::of(std::span<const Pack> packs) {
  stages_.assign(n_stages_, {});
  forward_s_.resize(n_stages_ * packs.size());
  backward_s_.resize(n_stages_ * packs.size());
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t s = 0; s < n_stages_; ++s) {
      while (advance(s, packs)) moves = true;
    }
  }
  double end_s = 0;
  for (const Stage& stage : stages_) end_s = std::max(end_s, stage.free_s);
  return end_s;
}

// The next pass of a stage, if what it needs is there.
bool PipelineTime::advance(std::size_t s, std::span<const Pack> packs) {
  Stage& stage = stages_[s];
  const std::size_t n = packs.size();
  if (stage.n_backward == n) return false;
  const std::size_t in_flight = stage.n_forward - stage.n_backward;
  const bool is_forward = stage.n_forward < n && in_flight < n_stages_ - s;
  const double factor = s + 1 < n_stages_ ? other_stages_ : 1;
  if (is_forward) {
    const std::size_t i = stage.n_forward;
    if (s > 0 && stages_[s - 1].n_forward <= i) return false;
    const double ready_s = s > 0 ? forward_s_[(s - 1) * n + i] : 0;
    stage.free_s = std::max(stage.free_s, ready_s) + factor * forward_s(packs[i]);
    forward_s_[s * n + i] = stage.free_s;
    ++stage.n_forward;
    return true;
  }
  const std::size_t i = stage.n_backward;
  if (s + 1 < n_stages_ && stages_[s + 1].n_backward <= i) return false;
  const double ready_s = s + 1 < n_stages_ ? backward_s_[(s + 1) * n + i] : 0;
  stage.free_s = std::max(stage.free_s, ready_s) + factor * (packs[i].time_s - forward_s(packs[i]));
  backward_s_[s * n + i] = stage.free_s;
  ++stage.n_backward;
  return true;
}

}  // namespace packsim
