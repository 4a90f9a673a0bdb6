#include "planning/bound/epoch_bound.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

#include "planning/bound/iteration_bound.hpp"

using namespace packsim;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A made-up job: what packs of so many tokens a GPU take, and documents, at each degree. Nothing rises with
// the tokens but by chance.
struct Job {
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

std::int64_t tokens_of(const Job& job, Samples samples) {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < job.lengths_tokens.size(); ++i) {
    if ((samples >> i & 1U) != 0) tokens += job.lengths_tokens[i];
  }
  return tokens;
}

double pack_s(const Job& job, std::size_t degree, Samples samples) {
  const std::int64_t tokens = (tokens_of(job, samples) + job.degrees[degree] - 1) / job.degrees[degree];
  if (tokens > job.capacity_tokens) return kNever;
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
  BestIteration(const Job& job, Samples samples) : job_(job), free_s_(static_cast<std::size_t>(job.n_gpus)) {
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

  const Job& job_;
  std::vector<double> free_s_;
  double best_s_ = kNever;
};

struct Optimum {
  std::vector<double> iteration_s;  // of each set of samples; infinite where it is no iteration
  double epoch_s = 0;
};

Optimum optimum(const Job& job) {
  const Samples all = (1U << job.lengths_tokens.size()) - 1;
  Optimum best{.iteration_s = std::vector<double>(all + 1, kNever)};
  std::vector<double> epoch_s(all + 1, kNever);
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

// Ways of a sample, one a degree, as docs/bound.md defines them.
std::vector<SampleChoice> choices_of(const Job& job, std::int32_t length_tokens) {
  std::vector<SampleChoice> choices;
  for (std::size_t d = 0; d < job.degrees.size(); ++d) {
    const int degree = job.degrees[d];
    double least_rate = kNever;
    double least_s = kNever;
    for (std::int64_t tokens = (length_tokens + degree - 1) / degree; tokens <= job.capacity_tokens;
         ++tokens) {
      const double time_s = job.pack_s[d][static_cast<std::size_t>(tokens)];
      least_rate = std::min(least_rate, time_s / static_cast<double>(tokens));
      least_s = std::min(least_s, time_s);
    }
    if (least_s == kNever) continue;
    const double document_s = job.document_s[d][static_cast<std::size_t>(length_tokens)];
    choices.push_back(
        {.time_s = least_s + document_s, .gpu_s = least_rate * length_tokens + degree * document_s});
  }
  return choices;
}

std::vector<SampleFloor> floors_of(const Job& job) {
  std::vector<SampleFloor> floors;
  for (const std::int32_t length : job.lengths_tokens) {
    SampleFloor floor{.length_tokens = length, .n_samples = 1, .gpu_s = kNever, .alone_s = kNever};
    for (const SampleChoice& choice : choices_of(job, length)) {
      floor.gpu_s = std::min(floor.gpu_s, choice.gpu_s);
      floor.alone_s = std::min(floor.alone_s, choice.time_s);
    }
    floors.push_back(floor);
  }
  return floors;
}

EpochBound bound_of(const Job& job) {
  return epoch_bound(
      floors_of(job),
      {.n_gpus = job.n_gpus, .tokens_per_iteration = job.tokens_per_iteration, .step_s = job.step_s});
}

class Jobs {
 public:
  // Kind 0: any times. Kind 1: as real packs, a fixed part, a part for each token, squares of documents.
  Job next(int kind) {
    Job job;
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

}  // namespace

TEST_CASE("No schedule of a tiny job is below the bound: all packs, degrees, places and iterations") {
  Jobs jobs;
  for (const int kind : {0, 1}) {
    double gap_sum = 0;
    double largest_gap = 0;
    int n_tight = 0;
    int n_waiting = 0;
    constexpr int kJobs = 700;
    for (int i = 0; i < kJobs; ++i) {
      const Job job = jobs.next(kind);
      const Optimum best = optimum(job);
      const EpochBound bound = bound_of(job);
      REQUIRE(best.epoch_s < kNever);
      REQUIRE(bound.time_s <= best.epoch_s * (1 + 1e-12));
      CHECK(bound.time_s == Approx(bound.busy_s + bound.waiting_s + bound.steps_s));
      const double gap = best.epoch_s / bound.time_s - 1;
      gap_sum += gap;
      largest_gap = std::max(largest_gap, gap);
      if (gap < 1e-9) ++n_tight;
      if (bound.waiting_s > 0) ++n_waiting;
    }
    CAPTURE(kind, largest_gap);
    // Seen: 0.065, and 0.54 where a pack's time says nothing of its tokens.
    CHECK(gap_sum / kJobs < (kind == 0 ? 0.6 : 0.08));
    // It is reached, and waiting counts.
    CHECK(n_tight > 0);
    CHECK(n_waiting > 100);
  }
}

TEST_CASE("No iteration of a tiny job is below its own bound, which is above area and longest sample") {
  Jobs jobs;
  int n_above_both = 0;
  for (int i = 0; i < 300; ++i) {
    const Job job = jobs.next(i % 2);
    const Optimum best = optimum(job);
    const std::vector<SampleFloor> floors = floors_of(job);
    for (Samples samples = 1; samples < best.iteration_s.size(); ++samples) {
      std::vector<std::vector<SampleChoice>> choices;
      double area_s = 0;
      double longest_s = 0;
      for (std::size_t k = 0; k < floors.size(); ++k) {
        if ((samples >> k & 1U) == 0) continue;
        choices.push_back(choices_of(job, job.lengths_tokens[k]));
        area_s += floors[k].gpu_s / job.n_gpus;
        longest_s = std::max(longest_s, floors[k].alone_s);
      }
      const double bound_s = iteration_bound(choices, job.n_gpus);
      REQUIRE(bound_s >= std::max(area_s, longest_s) * (1 - 1e-12));
      REQUIRE(bound_s <= best.iteration_s[samples] * (1 + 1e-12));
      if (bound_s > std::max(area_s, longest_s) * (1 + 1e-9)) ++n_above_both;
    }
  }
  CHECK(n_above_both > 100);
}

TEST_CASE("An iteration that needs its samples on more GPUs than are cheapest pays for them") {
  // Each alone 8 s on one GPU, or 5 s on two: 4 samples on 4 GPUs take 8 s one way, and 10 s the other.
  const std::vector<SampleChoice> ways = {{.time_s = 8, .gpu_s = 8}, {.time_s = 5, .gpu_s = 10}};
  CHECK(iteration_bound(std::vector(4, ways), 4) == 8);
  // Two samples: 10 + 10 GPU seconds on 4 GPUs.
  CHECK(iteration_bound(std::vector(2, ways), 4) == 5);
  // Three: 30 / 4 s, as one on a single GPU would take 8 s.
  CHECK(iteration_bound(std::vector(3, ways), 4) == 7.5);
  CHECK(iteration_bound({}, 4) == 0);
}

TEST_CASE("An epoch's bound: area, the steps' own time, and steps that wait for long samples") {
  // docs/bound.md: 8 GPUs, steps of 1000 tokens and 0.5 s; 4 samples of 500 tokens, each 8 GPU seconds and 4
  // s at least, and 40 of 100 tokens, 0.8 GPU seconds and 0.2 s.
  const std::vector<SampleFloor> samples = {
      {.length_tokens = 500, .n_samples = 4, .gpu_s = 8, .alone_s = 4},
      {.length_tokens = 100, .n_samples = 40, .gpu_s = 0.8, .alone_s = 0.2}};
  const EpochBound bound = epoch_bound(samples, {.n_gpus = 8, .tokens_per_iteration = 1000, .step_s = 0.5});
  CHECK(bound.iterations == 6);
  CHECK(bound.busy_s == Approx((4 * 8 + 40 * 0.8) / 8));
  CHECK(bound.steps_s == Approx(6 * 0.5));
  // Two steps at least hold the long samples: 2 x 4 s; the others hold 40 x 0.8 / 8 = 4 s of work.
  CHECK(bound.waiting_iterations == 2);
  CHECK(bound.waiting_s == Approx(2 * 4 + 4 - 8));
  CHECK(bound.time_s == Approx(15));
  // Where long samples wait for nobody, all GPUs may be busy.
  const EpochBound even = epoch_bound(samples, {.n_gpus = 2, .tokens_per_iteration = 1000, .step_s = 0});
  CHECK(even.waiting_s == 0);
  CHECK(even.time_s == Approx(32));
  CHECK(epoch_bound({}, {.n_gpus = 8, .tokens_per_iteration = 1000, .step_s = 1}).time_s == 0);
}

TEST_CASE("More GPUs, larger iterations and cheaper samples never raise the bound's time") {
  Jobs jobs;
  for (int i = 0; i < 500; ++i) {
    Job job = jobs.next(i % 2);
    const double time_s = bound_of(job).time_s;
    const std::vector<SampleFloor> floors = floors_of(job);
    EpochLimits limits{
        .n_gpus = job.n_gpus, .tokens_per_iteration = job.tokens_per_iteration, .step_s = job.step_s};
    limits.n_gpus *= 2;
    CHECK(epoch_bound(floors, limits).time_s <= time_s * (1 + 1e-12));
    limits.n_gpus /= 2;
    limits.tokens_per_iteration += 3;
    CHECK(epoch_bound(floors, limits).time_s <= time_s * (1 + 1e-12));
    limits.tokens_per_iteration -= 3;
    std::vector<SampleFloor> cheaper = floors;
    cheaper[0].gpu_s *= 0.5;
    cheaper[0].alone_s *= 0.75;
    CHECK(epoch_bound(cheaper, limits).time_s <= time_s * (1 + 1e-12));
  }
}
