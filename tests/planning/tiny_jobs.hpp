#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace packsim::testing {

inline constexpr double kInfinite_s = std::numeric_limits<double>::infinity();

// A made-up job: what packs of so many tokens a GPU take, and documents, at each degree. Nothing rises with
// the tokens but by chance.
struct TinyJob {
  int n_gpus = 1;
  std::int64_t capacity_tokens = 0;  // of each GPU
  std::int64_t tokens_per_iteration = 0;
  double step_s = 0;
  std::vector<int> degrees;
  std::vector<std::vector<double>> pack_s;      // [n_degrees][tokens of each GPU]
  std::vector<std::vector<double>> document_s;  // [n_degrees][tokens]
  std::vector<std::int32_t> lengths_tokens;
};

using Samples = std::uint32_t;  // a set of them

inline std::int64_t tokens_of(const TinyJob& job, Samples samples) {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < job.lengths_tokens.size(); ++i) {
    if ((samples >> i & 1U) != 0) tokens += job.lengths_tokens[i];
  }
  return tokens;
}

inline double pack_s(const TinyJob& job, std::size_t degree, Samples samples) {
  const std::int64_t tokens = (tokens_of(job, samples) + job.degrees[degree] - 1) / job.degrees[degree];
  if (tokens > job.capacity_tokens) return kInfinite_s;
  double time_s = job.pack_s[degree][static_cast<std::size_t>(tokens)];
  for (std::size_t i = 0; i < job.lengths_tokens.size(); ++i) {
    if ((samples >> i & 1U) != 0)
      time_s += job.document_s[degree][static_cast<std::size_t>(job.lengths_tokens[i])];
  }
  return time_s;
}

// The shortest time in which an iteration's samples can be trained: all packs, degrees, places and orders.
class BestIteration {
 public:
  BestIteration(const TinyJob& job, Samples samples)
      : job_(job), free_s_(static_cast<std::size_t>(job.n_gpus)) {
    place(samples, 0, 0);
  }
  double time_s() const { return best_s_; }

 private:
  // Packs start one after another, as in the order of their starts.
  void place(Samples left, double start_s, double end_s) {
    if (left == 0) best_s_ = std::min(best_s_, end_s);
    for (Samples pack = left; pack != 0; pack = (pack - 1) & left) {
      for (std::size_t degree = 0; degree < job_.degrees.size(); ++degree) {
        const double time_s = pack_s(job_, degree, pack);
        if (time_s < best_s_) place_pack(left, pack, degree, time_s, start_s, end_s);
      }
    }
  }

  void place_pack(Samples left, Samples pack, std::size_t degree, double time_s, double start_s,
                  double end_s) {
    const auto n = static_cast<std::size_t>(job_.degrees[degree]);
    for (std::size_t gpu = 0; gpu < free_s_.size(); gpu += n) {
      const auto first = free_s_.begin() + static_cast<std::ptrdiff_t>(gpu);
      const std::vector<double> before(first, first + static_cast<std::ptrdiff_t>(n));
      const double own_start_s = *std::ranges::max_element(before);
      const double own_end_s = own_start_s + time_s;
      if (own_start_s < start_s || std::max(end_s, own_end_s) >= best_s_) continue;
      std::fill_n(first, n, own_end_s);
      place(left & ~pack, own_start_s, std::max(end_s, own_end_s));
      std::ranges::copy(before, first);
      // Of GPUs that have done nothing, one is as good as another.
      if (own_start_s == 0 && std::ranges::all_of(free_s_, [](double free_s) { return free_s == 0; })) break;
    }
  }

  const TinyJob& job_;
  std::vector<double> free_s_;
  double best_s_ = kInfinite_s;
};

struct Optimum {
  std::vector<double> iteration_s;  // of each set of samples; infinite where it is no iteration
  double epoch_s = 0;
};

inline Optimum optimum(const TinyJob& job) {
  const Samples all = (1U << job.lengths_tokens.size()) - 1;
  Optimum best{.iteration_s = std::vector<double>(all + 1, kInfinite_s)};
  std::vector<double> epoch_s(all + 1, kInfinite_s);
  epoch_s[0] = 0;
  for (Samples samples = 1; samples <= all; ++samples) {
    if (tokens_of(job, samples) <= job.tokens_per_iteration)
      best.iteration_s[samples] = BestIteration(job, samples).time_s();
    for (Samples last = samples; last != 0; last = (last - 1) & samples) {
      epoch_s[samples] =
          std::min(epoch_s[samples], epoch_s[samples & ~last] + best.iteration_s[last] + job.step_s);
    }
  }
  best.epoch_s = epoch_s[all];
  return best;
}

class Jobs {
 public:
  // Kind 0: any times. Kind 1: as real packs, a fixed part, a part for each token, squares of documents.
  TinyJob next(int kind) {
    TinyJob job;
    job.n_gpus = 1 << below(3);
    const int most_samples = job.n_gpus == 4 ? 5 : 6;
    job.capacity_tokens = 4 + below(8);
    const std::int64_t longest = job.capacity_tokens * job.n_gpus;
    for (int n = 1 + below(most_samples); n > 0; --n) {
      const std::int64_t most = below(3) == 0 ? longest : std::min<std::int64_t>(longest, 6);
      job.lengths_tokens.push_back(1 + below(static_cast<int>(most)));
    }
    const std::int32_t longest_sample = *std::ranges::max_element(job.lengths_tokens);
    job.tokens_per_iteration = longest_sample + below(2 * static_cast<int>(longest));
    job.step_s = part() * below(3);
    const double fixed_s = 2 * part();
    for (int degree = 1; degree <= job.n_gpus; degree *= 2) {
      job.degrees.push_back(degree);
      std::vector<double>& packs = job.pack_s.emplace_back();
      std::vector<double>& documents = job.document_s.emplace_back();
      for (std::int64_t t = 0; t <= job.capacity_tokens; ++t)
        packs.push_back(kind == 0 ? 5 * part() : fixed_s + static_cast<double>(t) * (1 + 0.1 * degree));
      for (std::int64_t s = 0; s <= longest; ++s)
        documents.push_back(kind == 0 ? 3 * part() : 0.05 * static_cast<double>(s * s) / degree);
    }
    return job;
  }

 private:
  int below(int n) { return static_cast<int>(generator_() % static_cast<std::uint32_t>(n)); }
  double part() { return static_cast<double>(generator_() >> 8) * 0x1p-24; }
  std::mt19937 generator_{31};
};

}  // namespace packsim::testing
