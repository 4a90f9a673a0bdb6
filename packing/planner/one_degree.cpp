#include "packing/planner/one_degree.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>

#include "packing/algorithms/never.hpp"
#include "packing/planner/compose_rounds.hpp"
#include "packing/planner/cut_iterations.hpp"
#include "packing/planner/options.hpp"

namespace packsim {
namespace {

// The groups of one SP degree, as if there were no others.
class Degree {
 public:
  Degree(const BatchSetting& setting, int gpus_per_pack)
      : groups_(groups_of(setting, gpus_per_pack)), costs_(groups_) {
    const int n =
        best_rounds(costs_, {.tokens = setting.tokens_per_iteration}, setting.n_gpus, setting.rounds);
    best_fill_ = setting.rounds.fill_rounds / n;
    const double block_tokens =
        static_cast<double>(setting.tokens_per_iteration) / setting.n_gpus * gpus_per_pack;
    fill_per_token_ = setting.rounds.fill_rounds / block_tokens;
  }
  Degree(const Degree&) = delete;  // costs_ refers to groups_
  Degree& operator=(const Degree&) = delete;

  const DegreeCosts& costs() const { return costs_; }
  bool holds(std::int64_t length_tokens) const { return length_tokens <= costs_.most_tokens(0); }
  // And its part of filling the pipeline, which is larger where rounds are as long as the sample.
  double gpu_s(std::int64_t length_tokens) const {
    const double fill = std::max(best_fill_, fill_per_token_ * static_cast<double>(length_tokens));
    return costs_.gpus_per_pack(0) * costs_.share_s(0, length_tokens) * (1 + fill);
  }

 private:
  static std::vector<BatchGroup> groups_of(const BatchSetting& setting, int gpus_per_pack) {
    std::vector<BatchGroup> groups;
    for (const BatchGroup& group : setting.groups) {
      if (group.gpus_per_pack == gpus_per_pack) groups.push_back(group);
    }
    return groups;
  }

  std::vector<BatchGroup> groups_;
  DegreeCosts costs_;
  double best_fill_ = 0;       // of the time of packs
  double fill_per_token_ = 0;  // of a pack
};

// The items of an iteration, before they are placed.
struct IterationItems {
  std::size_t degree = 0;
  std::vector<ItemIndex> items;
};

// The degree of each length, [longest length + 1].
using Homes = std::vector<std::size_t>;

// The composed iterations; none where a pipeline's rounds cannot be filled, and why.
struct Attempt {
  std::vector<ComposedIteration> iterations;
  std::vector<IterationItems> items;  // of each iteration
  std::string mistake;                // empty: there is none
};

class Sorter {
 public:
  Sorter(const BatchProblem& problem, const DegreeCosts& costs)
      : setting_(problem.setting),
        window_iterations_(problem.items.options[kWindowIterations].value_or(0)),
        lengths_(problem.items.lengths_tokens) {
    for (std::size_t d = 0; d < costs.n_degrees(); ++d)
      degrees_.emplace_back(setting_, costs.gpus_per_pack(d));
  }

  std::vector<ComposedIteration> run(std::span<const ItemIndex> order) const {
    Attempt attempt = attempt_with(order, window_iterations_ > 0 ? Homes{} : best_homes(order));
    if (!attempt.mistake.empty()) throw std::invalid_argument("planner: " + attempt.mistake);
    return std::move(attempt.iterations);
  }

 private:
  // Packs that fill all of an iteration's room may not fill a multiple of rounds, so a little less is tried.
  Attempt attempt_with(std::span<const ItemIndex> order, const Homes& home_of) const {
    Attempt attempt;
    for (const double part : {1.0, 0.95, 0.85, 0.7, 0.5}) {
      const auto most_tokens =
          static_cast<std::int64_t>(part * static_cast<double>(setting_.tokens_per_iteration));
      attempt = {};
      attempt.items =
          home_of.empty() ? cut_in_windows(order, most_tokens) : cut_by_degree(order, home_of, most_tokens);
      if (setting_.rounds.multiple > 1) attempt.mistake = give_all_enough(attempt.items);
      for (const IterationItems& iteration : attempt.items) {
        if (!attempt.mistake.empty()) break;
        attempt.iterations.push_back(compose(iteration));
        if (!attempt.iterations.back().packs.empty()) continue;
        attempt.mistake = "expected samples that fill every round of an interleaved pipeline, got " +
                          std::to_string(iteration.items.size()) + " that do not";
      }
      if (attempt.mistake.empty()) return attempt;
    }
    return attempt;
  }

  std::vector<std::vector<ItemIndex>> cut(std::size_t degree, std::span<const ItemIndex> order,
                                          std::int64_t most_tokens) const {
    return cut_iterations(degrees_[degree].costs(), lengths_, order,
                          {.n_gpus = setting_.n_gpus,
                           .tokens_per_iteration = most_tokens,
                           .window_iterations = window_iterations_,
                           .rounds = &setting_.rounds});
  }

  std::vector<IterationItems> cut_by_degree(std::span<const ItemIndex> order, const Homes& home_of,
                                            std::int64_t most_tokens) const {
    std::vector<IterationItems> iterations;
    std::vector<ItemIndex> own;
    for (std::size_t d = 0; d < degrees_.size(); ++d) {
      own.clear();
      for (const ItemIndex item : order) {
        if (home_of[static_cast<std::size_t>(lengths_[item])] == d) own.push_back(item);
      }
      for (std::vector<ItemIndex>& items : cut(d, own, most_tokens))
        iterations.push_back({d, std::move(items)});
    }
    return iterations;
  }

  std::vector<IterationItems> cut_in_windows(std::span<const ItemIndex> order,
                                             std::int64_t most_tokens) const {
    std::int64_t longest = 0;
    for (const ItemIndex item : order) longest = std::max<std::int64_t>(longest, lengths_[item]);
    std::size_t degree = 0;
    while (degree + 1 < degrees_.size() && !degrees_[degree].holds(longest)) ++degree;
    std::vector<IterationItems> iterations;
    for (std::vector<ItemIndex>& items : cut(degree, order, most_tokens))
      iterations.push_back({degree, std::move(items)});
    return iterations;
  }

  std::int64_t tokens_of(std::span<const ItemIndex> items) const {
    std::int64_t tokens = 0;
    for (const ItemIndex item : items) tokens += lengths_[item];
    return tokens;
  }

  // Tries the few that promise most on some iterations, and takes the one that takes least time.
  Homes best_homes(std::span<const ItemIndex> order) const {
    constexpr std::size_t kTried = 4;
    constexpr std::int64_t kIterations = 32;
    std::vector<Homes> promising = homes(order, kTried);
    if (promising.size() < 2) return promising.empty() ? Homes{} : std::move(promising.front());
    std::size_t n_tried = 0;
    for (std::int64_t tokens = 0;
         n_tried < order.size() && tokens < kIterations * setting_.tokens_per_iteration;)
      tokens += lengths_[order[n_tried++]];
    Homes* best = &promising.front();
    double best_s = kNever;
    for (Homes& home_of : promising) {
      const double time_s = expected_s(attempt_with(order.first(n_tried), home_of), order, home_of);
      if (time_s >= best_s) continue;
      best_s = time_s;
      best = &home_of;
    }
    return std::move(*best);
  }

  // Returns the time of all samples, if those of each degree take as long as in its full iterations.
  double expected_s(const Attempt& attempt, std::span<const ItemIndex> order, const Homes& home_of) const {
    if (!attempt.mistake.empty()) return kNever;
    constexpr double kFull = 0.9;
    struct Sums {
      double time_s = 0;
      double tokens = 0;
    };
    std::vector<Sums> full(degrees_.size());
    std::vector<Sums> all(degrees_.size());
    for (std::size_t i = 0; i < attempt.items.size(); ++i) {
      const auto tokens = static_cast<double>(tokens_of(attempt.items[i].items));
      const std::size_t d = attempt.items[i].degree;
      const double time_s = attempt.iterations[i].time_s + setting_.step_s;
      all[d] = {all[d].time_s + time_s, all[d].tokens + tokens};
      if (tokens < kFull * static_cast<double>(setting_.tokens_per_iteration)) continue;
      full[d] = {full[d].time_s + time_s, full[d].tokens + tokens};
    }
    std::vector<double> tokens_of_degree(degrees_.size());
    for (const ItemIndex item : order)
      tokens_of_degree[home_of[static_cast<std::size_t>(lengths_[item])]] += lengths_[item];
    double sum_s = 0;
    for (std::size_t d = 0; d < degrees_.size(); ++d) {
      const Sums& rate = full[d].tokens > 0 ? full[d] : all[d];
      // A degree with none of the tried items is too rare to count.
      if (rate.tokens > 0) sum_s += tokens_of_degree[d] * rate.time_s / rate.tokens;
    }
    return sum_s;
  }

  // Each length at the degree of a set at which it takes least; the sets with the least GPU time, with half
  // an iteration for each degree that is not full, that first.
  std::vector<Homes> homes(std::span<const ItemIndex> order, std::size_t most) const {
    std::vector<std::int64_t> n_of_length;
    for (const ItemIndex item : order) {
      const auto length = static_cast<std::size_t>(lengths_[item]);
      if (length >= n_of_length.size()) n_of_length.resize(length + 1);
      ++n_of_length[length];
    }
    const double n_iterations = std::max(
        1.0, static_cast<double>(tokens_of(order)) / static_cast<double>(setting_.tokens_per_iteration));
    std::vector<std::pair<double, Homes>> found;
    for (std::uint32_t set = 1; set < (1U << degrees_.size()); ++set) {
      Homes home_of(n_of_length.size());
      const double gpu_s = set_homes(set, n_of_length, home_of);
      // Infinite where a degree of the set is not used, which another set is without.
      if (gpu_s < kNever)
        found.emplace_back(gpu_s * (1 + 0.5 * std::popcount(set) / n_iterations), std::move(home_of));
    }
    std::ranges::stable_sort(found, {}, [](const auto& timed) { return timed.first; });
    std::vector<Homes> best;
    for (std::size_t i = 0; i < std::min(most, found.size()); ++i) best.push_back(std::move(found[i].second));
    return best;
  }

  double set_homes(std::uint32_t set, std::span<const std::int64_t> n_of_length, Homes& home_of) const {
    std::uint32_t used = 0;
    double gpu_s = 0;
    for (std::size_t length = 0; length < n_of_length.size(); ++length) {
      if (n_of_length[length] == 0) continue;
      double least_s = kNever;
      for (std::size_t d = 0; d < degrees_.size(); ++d) {
        if ((set >> d & 1U) == 0) continue;
        const double own_s = degrees_[d].gpu_s(static_cast<std::int64_t>(length));
        if (own_s >= least_s) continue;
        least_s = own_s;
        home_of[length] = d;
      }
      gpu_s += static_cast<double>(n_of_length[length]) * least_s;
      used |= 1U << home_of[length];
    }
    return used == set ? gpu_s : kNever;
  }

  std::size_t needed(const IterationItems& iteration) const {
    const int n_blocks = setting_.n_gpus / degrees_[iteration.degree].costs().gpus_per_pack(0);
    return static_cast<std::size_t>(setting_.rounds.multiple) * static_cast<std::size_t>(n_blocks);
  }

  // Lots with too few items for a pack on all GPUs get the shortest of those with most to spare. Returns what
  // is wrong where there are not enough.
  std::string give_all_enough(std::vector<IterationItems>& iterations) const {
    for (IterationItems& iteration : iterations) {
      while (iteration.items.size() < needed(iteration)) {
        if (take_one(iterations, iteration, setting_.tokens_per_iteration - tokens_of(iteration.items)))
          continue;
        return "expected at least " + std::to_string(needed(iteration)) +
               " samples an iteration, a pack for each rank in each round of an interleaved pipeline, got " +
               std::to_string(iteration.items.size());
      }
    }
    return "";
  }

  bool take_one(std::vector<IterationItems>& iterations, IterationItems& to, std::int64_t room) const {
    IterationItems* from = nullptr;
    for (IterationItems& iteration : iterations) {
      if (&iteration == &to || iteration.items.size() <= needed(iteration)) continue;
      if (from == nullptr || iteration.items.size() - needed(iteration) > from->items.size() - needed(*from))
        from = &iteration;
    }
    if (from == nullptr) return false;
    const auto shortest =
        std::ranges::min_element(from->items, {}, [&](ItemIndex item) { return lengths_[item]; });
    if (lengths_[*shortest] > room || !degrees_[to.degree].holds(lengths_[*shortest])) return false;
    to.items.push_back(*shortest);
    from->items.erase(shortest);
    return true;
  }

  // Places the packs of an iteration: in windows at the best degree that holds it, otherwise at the smallest
  // degree at which it works out. No packs where there is no such degree.
  ComposedIteration compose(const IterationItems& iteration) const {
    const bool in_window = window_iterations_ > 0;
    std::int64_t longest = 0;
    for (const ItemIndex item : iteration.items) longest = std::max<std::int64_t>(longest, lengths_[item]);
    ComposedIteration best{.packs = {}, .time_s = kNever};
    for (std::size_t d = in_window ? 0 : iteration.degree; d < degrees_.size(); ++d) {
      if (!degrees_[d].holds(longest)) continue;
      ComposedIteration tried =
          compose_rounds(degrees_[d].costs(), lengths_, iteration.items, setting_.n_gpus, setting_.rounds);
      for (ComposedPack& pack : tried.packs) pack.degree = d;
      if (tried.time_s < best.time_s) best = std::move(tried);
      if (!in_window && best.time_s < kNever) break;
    }
    return best;
  }

  const BatchSetting& setting_;
  std::int64_t window_iterations_;  // 0: all
  std::span<const std::int32_t> lengths_;
  std::deque<Degree> degrees_;  // do not move
};

}  // namespace

std::vector<ComposedIteration> one_degree_iterations(const BatchProblem& problem, const DegreeCosts& costs,
                                                     std::span<const ItemIndex> order) {
  return Sorter(problem, costs).run(order);
}

}  // namespace packsim
