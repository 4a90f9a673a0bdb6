#include "packing/planner/small_jobs/iteration_timer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "packing/algorithms/never.hpp"

namespace packsim {
namespace {

// The position of the i-th shortest of n packs.
std::size_t place_in(RankOrder order, std::size_t i, std::size_t n) {
  switch (order) {
    case RankOrder::longest_last:
      return i;
    case RankOrder::longest_first:
      return n - 1 - i;
    case RankOrder::shortest_last:
      return i % 2 == 0 ? n - 1 - i / 2 : i / 2;
  }
  return i;
}

}  // namespace

IterationTimer::IterationTimer(const BatchSetting& setting, const DegreeCosts& costs)
    : setting_(setting), costs_(costs), pipeline_(setting.rounds) {
  for (std::size_t d = 0; d < costs.n_degrees(); ++d) fixed_s_.push_back(std::max(0.0, costs.tokens_s(d, 1)));
}

double IterationTimer::place(std::span<const TimedPack> packs) {
  places_.assign(packs.size(), {});
  order_.resize(packs.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  mean_s_ = 0;
  if (packs.empty()) return 0;
  if (setting_.rounds_in_step) return place_in_rounds(packs);
  return setting_.rounds.fill_rounds > 0 ? place_in_pipelines(packs) : place_on_blocks(packs);
}

// What is sent beside the first forward and the last backward pass, and takes longer than these.
double IterationTimer::exposed_s(double first_s, double last_s) const {
  return std::max(0.0, setting_.hidden_s - kForwardPart * first_s - (1 - kForwardPart) * last_s);
}

double IterationTimer::place_in_rounds(std::span<const TimedPack> packs) {
  std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
    return packs[a].time_s != packs[b].time_s ? packs[a].time_s > packs[b].time_s : a < b;
  });
  rounds_.clear();
  for (const std::size_t p : order_) {
    std::size_t r = 0;
    while (r < rounds_.size() && rounds_[r].n_used_gpus + gpus(packs[p]) > setting_.n_gpus) ++r;
    if (r == rounds_.size()) rounds_.push_back({.time_s = packs[p].time_s, .first = p});
    rounds_[r].n_used_gpus += gpus(packs[p]);
    places_[p].round = static_cast<int>(r);
    places_[p].is_critical = rounds_[r].first == p;
    mean_s_ += gpus(packs[p]) * packs[p].time_s / setting_.n_gpus;
  }
  // Rounds with the most GPUs first, and in a round the widest packs, so that no GPU skips a round.
  round_order_.resize(rounds_.size());
  std::iota(round_order_.begin(), round_order_.end(), std::size_t{0});
  std::ranges::stable_sort(round_order_, [&](std::size_t a, std::size_t b) {
    return rounds_[a].n_used_gpus > rounds_[b].n_used_gpus;
  });
  counts_.assign(rounds_.size(), 0);
  for (std::size_t i = 0; i < round_order_.size(); ++i) counts_[round_order_[i]] = static_cast<int>(i);
  std::ranges::stable_sort(order_,
                           [&](std::size_t a, std::size_t b) { return gpus(packs[a]) > gpus(packs[b]); });
  double time_s = 0;
  for (Round& round : rounds_) {
    time_s += round.time_s;
    round.n_used_gpus = 0;
  }
  for (const std::size_t p : order_) {
    Round& round = rounds_[static_cast<std::size_t>(places_[p].round)];
    places_[p].first_gpu = round.n_used_gpus;
    round.n_used_gpus += gpus(packs[p]);
    places_[p].round = counts_[static_cast<std::size_t>(places_[p].round)];
  }
  return time_s * (1 + setting_.rounds.fill_rounds / static_cast<double>(rounds_.size())) +
         exposed_s(rounds_[round_order_.front()].time_s, rounds_[round_order_.back()].time_s);
}

double IterationTimer::place_on_blocks(std::span<const TimedPack> packs) {
  std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
    if (packs[a].degree != packs[b].degree) return packs[a].degree > packs[b].degree;
    return packs[a].time_s != packs[b].time_s ? packs[a].time_s > packs[b].time_s : a < b;
  });
  const auto n_gpus = static_cast<std::size_t>(setting_.n_gpus);
  loads_.assign(n_gpus, 0);
  counts_.assign(n_gpus, 0);
  firsts_.assign(n_gpus, 0);
  lasts_.assign(n_gpus, 0);
  for (const std::size_t p : order_) {
    const auto width = static_cast<std::size_t>(gpus(packs[p]));
    // The GPUs of a block have done the same so far, as wider packs came first.
    std::size_t best = 0;
    for (std::size_t gpu = width; gpu < n_gpus; gpu += width) {
      if (loads_[gpu] < loads_[best]) best = gpu;
    }
    places_[p] = {.first_gpu = static_cast<int>(best), .round = counts_[best]};
    for (std::size_t gpu = best; gpu < best + width; ++gpu) {
      loads_[gpu] += packs[p].time_s;
      if (counts_[gpu]++ == 0) firsts_[gpu] = packs[p].time_s;
      lasts_[gpu] = packs[p].time_s;
    }
  }
  for (std::size_t gpu = 0; gpu < n_gpus; ++gpu) {
    if (counts_[gpu] > 0) loads_[gpu] += exposed_s(firsts_[gpu], lasts_[gpu]);
  }
  const double time_s = *std::ranges::max_element(loads_);
  for (std::size_t p = 0; p < packs.size(); ++p) {
    const auto first = loads_.begin() + places_[p].first_gpu;
    places_[p].is_critical = *std::max_element(first, first + gpus(packs[p])) >= time_s * (1 - 1e-9);
  }
  double squares = 0;
  for (const double load_s : loads_) squares += load_s * load_s;
  mean_s_ = std::sqrt(squares / setting_.n_gpus);
  return time_s;
}

// Places the packs of one rank, and times them.
double IterationTimer::pipeline_s(std::span<const std::size_t> longest_first,
                                  std::span<const TimedPack> packs, int first_gpu, RankOrder order) {
  const std::size_t n = longest_first.size();
  of_pipeline_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t p = longest_first[n - 1 - i];
    const std::size_t at = place_in(order, i, n);
    of_pipeline_[at] = {packs[p].time_s, std::min(packs[p].time_s, fixed_s_[packs[p].degree])};
    places_[p] = {.first_gpu = first_gpu, .round = static_cast<int>(at)};
  }
  return pipeline_.of(of_pipeline_) + exposed_s(of_pipeline_.front().time_s, of_pipeline_.back().time_s);
}

double IterationTimer::place_in_pipelines(std::span<const TimedPack> packs) {
  std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
    return packs[a].time_s != packs[b].time_s ? packs[a].time_s > packs[b].time_s : a < b;
  });
  // All packs of an iteration have the same degree.
  const int width = gpus(packs.front());
  const auto n_ranks = static_cast<std::size_t>(setting_.n_gpus / width);
  loads_.assign(n_ranks, 0);
  if (of_rank_.size() < n_ranks) of_rank_.resize(n_ranks);
  for (std::size_t rank = 0; rank < n_ranks; ++rank) of_rank_[rank].clear();
  for (const std::size_t p : order_) {
    const auto rank = static_cast<std::size_t>(std::ranges::min_element(loads_) - loads_.begin());
    loads_[rank] += packs[p].time_s;
    of_rank_[rank].push_back(p);
  }
  double squares = 0;
  for (std::size_t rank = 0; rank < n_ranks; ++rank) {
    const std::vector<std::size_t>& own = of_rank_[rank];
    if (own.empty()) continue;
    const int first_gpu = static_cast<int>(rank) * width;
    RankOrder best = kRankOrders.front();
    loads_[rank] = kNever;
    for (const RankOrder order : kRankOrders) {
      const double time_s = pipeline_s(own, packs, first_gpu, order);
      if (time_s >= loads_[rank]) continue;
      loads_[rank] = time_s;
      best = order;
    }
    if (best != kRankOrders.back()) pipeline_s(own, packs, first_gpu, best);
    squares += loads_[rank] * loads_[rank];
  }
  const double time_s = *std::ranges::max_element(loads_);
  for (std::size_t p = 0; p < packs.size(); ++p)
    places_[p].is_critical =
        loads_[static_cast<std::size_t>(places_[p].first_gpu / width)] >= time_s * (1 - 1e-9);
  mean_s_ = std::sqrt(squares / static_cast<double>(n_ranks));
  return time_s;
}

}  // namespace packsim
