#include "planning/bound/epoch_bound.hpp"

#include <algorithm>
#include <vector>

namespace packsim {
namespace {

std::int64_t tokens_of(const SampleFloor& samples) {
  return samples.n_samples * samples.length_tokens;
}

double gpu_s_of(const SampleFloor& samples) {
  return static_cast<double>(samples.n_samples) * samples.gpu_s;
}

// Goes through the tokens of sorted samples.
class TokenLine {
 public:
  explicit TokenLine(std::span<const SampleFloor> samples) : samples_(samples) {}

  // The samples in which the token at this position lies. Positions never decrease from call to call.
  const SampleFloor& at(std::int64_t tokens) {
    move_to(tokens);
    return samples_[next_];
  }
  // GPU time of so many first tokens; a sample that is cut counts by its part.
  double gpu_s_up_to(std::int64_t tokens) {
    move_to(tokens);
    if (next_ == samples_.size()) return gpu_s_;
    const SampleFloor& cut = samples_[next_];
    return gpu_s_ + static_cast<double>(tokens - tokens_) / cut.length_tokens * cut.gpu_s;
  }

 private:
  void move_to(std::int64_t tokens) {
    for (; next_ < samples_.size() && tokens_ + tokens_of(samples_[next_]) <= tokens; ++next_) {
      tokens_ += tokens_of(samples_[next_]);
      gpu_s_ += gpu_s_of(samples_[next_]);
    }
  }

  std::span<const SampleFloor> samples_;
  std::size_t next_ = 0;
  std::int64_t tokens_ = 0;  // of all before the next one
  double gpu_s_ = 0;
};

// The fewest steps that hold all tokens.
std::int64_t n_full_steps(std::span<const SampleFloor> samples, const EpochLimits& limits) {
  std::int64_t tokens = 0;
  for (const SampleFloor& sample : samples) tokens += tokens_of(sample);
  return (tokens + limits.tokens_per_iteration - 1) / limits.tokens_per_iteration;
}

// The parts that are simply sums.
EpochBound summed(std::span<const SampleFloor> samples, const EpochLimits& limits) {
  std::int64_t tokens = 0;
  EpochBound bound;
  for (const SampleFloor& sample : samples) {
    tokens += tokens_of(sample);
    bound.busy_s += gpu_s_of(sample) / limits.n_gpus;
  }
  bound.iterations = n_full_steps(samples, limits);
  // Rounded down, as the mean is that of several epochs.
  if (limits.mean_tokens_per_iteration > 0) {
    const double fewest = static_cast<double>(tokens) / limits.mean_tokens_per_iteration;
    bound.iterations = std::max(bound.iterations, static_cast<std::int64_t>(fewest));
  }
  bound.steps_s = static_cast<double>(bound.iterations) * limits.step_s;
  return bound;
}

std::vector<SampleFloor> by_density(std::span<const SampleFloor> samples) {
  std::vector<SampleFloor> densest(samples.begin(), samples.end());
  std::ranges::sort(densest, std::ranges::greater(),
                    [](const SampleFloor& sample) { return sample.gpu_s / sample.length_tokens; });
  return densest;
}

}  // namespace

EpochBound epoch_bound(std::span<const SampleFloor> samples, const EpochLimits& limits) {
  EpochBound bound = summed(samples, limits);
  std::vector<SampleFloor> slowest(samples.begin(), samples.end());
  std::ranges::sort(slowest, std::ranges::greater(), &SampleFloor::alone_s);
  const std::vector<SampleFloor> densest = by_density(samples);
  TokenLine slow_line(slowest);
  TokenLine dense_line(densest);
  double waiting_steps_s = 0;
  const std::int64_t n_full = n_full_steps(samples, limits);
  for (std::int64_t j = 1; j <= n_full; ++j) {
    waiting_steps_s += slow_line.at((j - 1) * limits.tokens_per_iteration).alone_s;
    const double top_s = dense_line.gpu_s_up_to(j * limits.tokens_per_iteration) / limits.n_gpus;
    const double more_s = waiting_steps_s + std::max(0.0, bound.busy_s - top_s) - bound.busy_s;
    if (more_s <= bound.waiting_s) continue;
    bound.waiting_s = more_s;
    bound.waiting_iterations = j;
  }
  bound.time_s = bound.busy_s + bound.waiting_s + bound.steps_s;
  return bound;
}

EpochBound epoch_bound(std::span<const SampleFloor> samples, const EpochLimits& limits,
                       std::span<const StepLine> lines) {
  EpochBound bound = summed(samples, limits);
  const std::vector<SampleFloor> densest = by_density(samples);
  TokenLine dense_line(densest);
  double before_s = 0;
  for (std::int64_t j = 1; j <= bound.iterations; ++j) {
    const double up_to_s = dense_line.gpu_s_up_to(j * limits.tokens_per_iteration) / limits.n_gpus;
    const double own_s = up_to_s - before_s;
    before_s = up_to_s;
    const StepLine& lowest = *std::ranges::min_element(
        lines, {}, [&](const StepLine& line) { return line.work * own_s + line.fixed_s; });
    bound.waiting_s += (lowest.work - 1) * own_s;
    bound.fixed_s += lowest.fixed_s;
  }
  bound.time_s = bound.busy_s + bound.waiting_s + bound.fixed_s + bound.steps_s;
  return bound;
}

}  // namespace packsim
