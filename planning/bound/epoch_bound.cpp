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

  // The samples in which the token lies that has so many before it, no fewer than at the last call.
  const SampleFloor& at(std::int64_t tokens) {
    move_to(tokens);
    return samples_[next_];
  }
  // GPU time of the first tokens; of a sample that is cut its part.
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

}  // namespace

EpochBound epoch_bound(std::span<const SampleFloor> samples, const EpochLimits& limits) {
  std::int64_t tokens = 0;
  double gpu_s = 0;
  for (const SampleFloor& sample : samples) {
    tokens += tokens_of(sample);
    gpu_s += gpu_s_of(sample);
  }
  EpochBound bound;
  bound.iterations = (tokens + limits.tokens_per_iteration - 1) / limits.tokens_per_iteration;
  bound.busy_s = gpu_s / limits.n_gpus;
  bound.steps_s = static_cast<double>(bound.iterations) * limits.step_s;

  std::vector<SampleFloor> slowest(samples.begin(), samples.end());
  std::ranges::sort(slowest, std::ranges::greater(), &SampleFloor::alone_s);
  std::vector<SampleFloor> densest(samples.begin(), samples.end());
  std::ranges::sort(densest, std::ranges::greater(),
                    [](const SampleFloor& sample) { return sample.gpu_s / sample.length_tokens; });
  TokenLine slow_line(slowest);
  TokenLine dense_line(densest);
  double waiting_steps_s = 0;
  for (std::int64_t j = 1; j <= bound.iterations; ++j) {
    waiting_steps_s += slow_line.at((j - 1) * limits.tokens_per_iteration).alone_s;
    const double elsewhere_s = gpu_s - dense_line.gpu_s_up_to(j * limits.tokens_per_iteration);
    const double more_s = waiting_steps_s + std::max(0.0, elsewhere_s) / limits.n_gpus - bound.busy_s;
    if (more_s <= bound.waiting_s) continue;
    bound.waiting_s = more_s;
    bound.waiting_iterations = j;
  }
  bound.time_s = bound.busy_s + bound.waiting_s + bound.steps_s;
  return bound;
}

}  // namespace packsim
