#include "packing/planner/small_jobs/random_changes.hpp"

#include <algorithm>
#include <utility>

#include "packing/algorithms/never.hpp"

namespace packsim {
namespace {

// What a second of mean time of GPUs counts against one of the iteration: little, but enough to tell plans
// apart that take equally long.
constexpr double kMeanPart = 0.03;

}  // namespace

RandomChanges::RandomChanges(const BatchSetting& setting, const DegreeCosts& costs,
                             std::span<const std::int32_t> lengths_tokens, const IterationLimits& limits)
    : setting_(setting), costs_(costs), lengths_(lengths_tokens), limits_(limits), timer_(setting, costs) {}

double RandomChanges::start(std::span<const ComposedIteration> iterations) {
  iterations_.clear();
  for (const ComposedIteration& given : iterations) {
    TimedIteration& iteration = iterations_.emplace_back();
    for (const ComposedPack& composed : given.packs) {
      Pack& pack = iteration.packs.emplace_back();
      pack.degree = composed.degree;
      pack.items = composed.items;
      price(pack);
    }
    keep_one_free(iteration);
    recount(iteration);
    time(iteration);
  }
  return total_s();
}

double RandomChanges::total_s() const {
  double sum_s = 0;
  for (const TimedIteration& iteration : iterations_) sum_s += iteration.time_s;
  return sum_s;
}

void RandomChanges::improve(std::int64_t n_placed) {
  // Changes for the worse are accepted up to this part of the mean iteration, and ever less.
  constexpr double kWorst = 0.01;
  constexpr double kGreedyPart = 0.25;
  const double mean_s = total_s() / static_cast<double>(iterations_.size());
  n_placed_ = 0;
  for (std::int64_t n_tries = 0; n_placed_ < n_placed && n_tries < n_placed; ++n_tries) {
    Change change;
    if (!pick_packs(change)) continue;
    const double left =
        1 - static_cast<double>(std::max(n_placed_, n_tries)) / static_cast<double>(n_placed) - kGreedyPart;
    const double worst_s = left > 0 ? kWorst * mean_s * left * left : 0;
    const double part = static_cast<double>(pick(1024)) / 1024;
    try_change(change, worst_s * part * part);
  }
}

// The first has items, and if it can be, it is one that its iteration waits for.
bool RandomChanges::pick_packs(Change& change) {
  constexpr int kTries = 6;
  const bool wants_critical = pick(10) < 7;
  for (int i = 0; i < kTries; ++i) {
    change.iterations[0] = pick(iterations_.size());
    change.packs[0] = pick(iterations_[change.iterations[0]].packs.size());
    const Pack& first = pack(change, 0);
    if (!first.items.empty() && (first.is_critical || !wants_critical)) break;
  }
  if (pack(change, 0).items.empty()) return false;
  change.iterations[1] = pick(3) > 0 ? change.iterations[0] : pick(iterations_.size());
  change.packs[1] = pick(iterations_[change.iterations[1]].packs.size());
  return change.iterations[0] != change.iterations[1] || change.packs[0] != change.packs[1];
}

// Changes two packs, and undoes that if it makes their iterations worse by more.
void RandomChanges::try_change(const Change& change, double most_worse_s) {
  TimedIteration& one = iterations_[change.iterations[0]];
  TimedIteration& other = iterations_[change.iterations[1]];
  const bool are_two = &one != &other;
  for (int i = 0; i < 2; ++i) before_[i] = pack(change, i);
  struct Sums {
    std::int64_t tokens;
    double time_s;
    double score_s;
  };
  const Sums before[2] = {{one.tokens, one.time_s, one.score_s}, {other.tokens, other.time_s, other.score_s}};
  const auto fits = [&](const TimedIteration& iteration, std::int64_t tokens) {
    return iteration.tokens <= std::max(limits_.most_tokens, tokens);
  };
  bool is_possible = change_packs(change);
  if (is_possible) {
    recount(one);
    if (are_two) recount(other);
    is_possible = fits(one, before[0].tokens) && fits(other, before[1].tokens) &&
                  ((one.tokens > 0 && other.tokens > 0) || are_enough());
  }
  double more_s = kNever;
  if (is_possible) {
    time(one);
    if (are_two) time(other);
    more_s = one.score_s - before[0].score_s;
    if (are_two) more_s += other.score_s - before[1].score_s;
  }
  if (more_s > most_worse_s) {
    for (int i = 0; i < 2; ++i) std::swap(pack(change, i), before_[i]);
    one.tokens = before[0].tokens;
    one.time_s = before[0].time_s;
    one.score_s = before[0].score_s;
    other.tokens = before[1].tokens;
    other.time_s = before[1].time_s;
    other.score_s = before[1].score_s;
    return;
  }
  keep_one_free(one);
  if (are_two) keep_one_free(other);
}

bool RandomChanges::change_packs(const Change& change) {
  Pack& one = pack(change, 0);
  Pack& other = pack(change, 1);
  // All packs of such an iteration have the same degree.
  const bool one_degree = setting_.one_degree;
  const std::size_t kind = pick(16);
  bool is_changed = false;
  if (one_degree && !other.items.empty() && change.iterations[0] == change.iterations[1])
    other.degree = one.degree;
  if (kind < 6) {
    const bool has_new_degree = other.items.empty();
    move_item(one, other, has_new_degree);
    is_changed = true;
    if (has_new_degree && one_degree) {
      other.degree = one.degree;
      for (const Pack& known : iterations_[change.iterations[1]].packs) {
        if (&known != &other && !known.items.empty()) other.degree = known.degree;
      }
    }
  } else if (kind < 13) {
    is_changed = swap_items(one, other);
  } else if (kind < 15) {
    is_changed = merge(one, other);
  } else if (!one_degree) {
    is_changed = change_degree(one);
  }
  return is_changed && price(one) && price(other);
}

void RandomChanges::move_item(Pack& from, Pack& to, bool has_new_degree) {
  if (has_new_degree) to.degree = pick(2) == 0 ? from.degree : pick(costs_.n_degrees());
  const std::size_t at = pick(from.items.size());
  to.items.push_back(from.items[at]);
  from.items[at] = from.items.back();
  from.items.pop_back();
}

bool RandomChanges::swap_items(Pack& one, Pack& other) {
  if (other.items.empty()) return false;
  ItemIndex& from = one.items[pick(one.items.size())];
  ItemIndex& to = other.items[pick(other.items.size())];
  if (lengths_[from] == lengths_[to]) return false;
  std::swap(from, to);
  return true;
}

bool RandomChanges::merge(Pack& to, Pack& from) {
  if (from.items.empty()) return false;
  to.items.insert(to.items.end(), from.items.begin(), from.items.end());
  from.items.clear();
  return true;
}

bool RandomChanges::change_degree(Pack& pack) {
  const std::size_t degree = pick(costs_.n_degrees());
  return std::exchange(pack.degree, degree) != degree;
}

// False if it is too long for its degree.
bool RandomChanges::price(Pack& pack) {
  pack.tokens = 0;
  pack.time_s = 0;
  if (pack.items.empty()) return true;
  pack_lengths_.clear();
  for (const ItemIndex item : pack.items) {
    pack_lengths_.push_back(lengths_[item]);
    pack.tokens += lengths_[item];
  }
  if (pack.tokens > costs_.most_tokens(pack.degree)) return false;
  pack.time_s = costs_.pack_s(pack.degree, pack_lengths_);
  return true;
}

void RandomChanges::recount(TimedIteration& iteration) const {
  iteration.tokens = 0;
  for (const Pack& pack : iteration.packs) iteration.tokens += pack.tokens;
}

void RandomChanges::time(TimedIteration& iteration) {
  timed_.clear();
  timed_of_.clear();
  for (std::size_t p = 0; p < iteration.packs.size(); ++p) {
    if (iteration.packs[p].items.empty()) continue;
    timed_.push_back({iteration.packs[p].degree, iteration.packs[p].time_s});
    timed_of_.push_back(p);
  }
  n_placed_ += 1 + static_cast<std::int64_t>(timed_.size());
  iteration.time_s = timer_.place(timed_) + (timed_.empty() ? 0 : setting_.step_s);
  iteration.score_s = iteration.time_s + kMeanPart * timer_.mean_s();
  for (std::size_t i = 0; i < timed_of_.size(); ++i)
    iteration.packs[timed_of_[i]].is_critical = timer_.places()[i].is_critical;
}

bool RandomChanges::are_enough() const {
  const auto is_there = [](const TimedIteration& iteration) { return iteration.tokens > 0; };
  return std::ranges::count_if(iterations_, is_there) >= limits_.fewest;
}

void RandomChanges::keep_one_free(TimedIteration& iteration) {
  const bool has_free =
      std::ranges::any_of(iteration.packs, [](const Pack& pack) { return pack.items.empty(); });
  if (!has_free) iteration.packs.emplace_back();
}

std::vector<ComposedIteration> RandomChanges::iterations() {
  std::vector<ComposedIteration> iterations;
  for (TimedIteration& iteration : iterations_) {
    time(iteration);
    if (timed_.empty()) continue;
    ComposedIteration& composed = iterations.emplace_back();
    composed.time_s = iteration.time_s - setting_.step_s;
    for (std::size_t i = 0; i < timed_of_.size(); ++i) {
      const Pack& pack = iteration.packs[timed_of_[i]];
      const IterationTimer::Place& place = timer_.places()[i];
      composed.gpu_s += costs_.gpus_per_pack(pack.degree) * pack.time_s;
      composed.packs.push_back({.degree = pack.degree,
                                .first_gpu = place.first_gpu,
                                .round = place.round,
                                .time_s = pack.time_s,
                                .items = pack.items});
    }
    std::ranges::stable_sort(composed.packs, {}, &ComposedPack::round);
  }
  return iterations;
}

}  // namespace packsim
