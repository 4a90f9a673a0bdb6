#include "packing/planner/one_degree.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>

#include "packing/planner/compose_rounds.hpp"
#include "packing/planner/cut_iterations.hpp"

namespace packsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The groups of one SP degree, as if there were no others.
class Degree {
 public:
  Degree(const BatchSetting& setting, int sp_degree)
      : groups_(groups_of(setting, sp_degree)), costs_(groups_) {
    const int n = best_rounds(costs_, setting.tokens_per_iteration, 0, setting.n_gpus, setting.rounds);
    best_fill_ = setting.rounds.fill_rounds / n;
    const double block_tokens =
        static_cast<double>(setting.tokens_per_iteration) / setting.n_gpus * sp_degree;
    fill_per_token_ = setting.rounds.fill_rounds / block_tokens;
  }
  Degree(const Degree&) = delete;  // costs_ refers to groups_
  Degree& operator=(const Degree&) = delete;

  const DegreeCosts& costs() const { return costs_; }
  bool holds(std::int64_t length_tokens) const { return length_tokens <= costs_.most_tokens(0); }
  // And its part of filling the pipeline, which is larger where rounds are as long as the sample.
  double gpu_s(std::int64_t length_tokens) const {
    const double fill = std::max(best_fill_, fill_per_token_ * static_cast<double>(length_tokens));
    return costs_.sp_degree(0) * costs_.share_s(0, length_tokens) * (1 + fill);
  }

 private:
  static std::vector<BatchGroup> groups_of(const BatchSetting& setting, int sp_degree) {
    std::vector<BatchGroup> groups;
    for (const BatchGroup& group : setting.groups) {
      if (group.sp_degree == sp_degree) groups.push_back(group);
    }
    return groups;
  }

  std::vector<BatchGroup> groups_;
  DegreeCosts costs_;
  double best_fill_ = 0;       // of the time of packs
  double fill_per_token_ = 0;  // of a pack
};

// The items of an iteration, before they are placed.
struct Lot {
  std::size_t degree = 0;
  std::vector<ItemIndex> items;
};

class Sorter {
 public:
  Sorter(const BatchProblem& problem, const DegreeCosts& costs)
      : setting_(problem.setting), options_(problem.items.options), lengths_(problem.items.lengths_tokens) {
    for (std::size_t d = 0; d < costs.n_degrees(); ++d) degrees_.emplace_back(setting_, costs.sp_degree(d));
  }

  std::vector<ComposedIteration> run(std::span<const ItemIndex> order) {
    std::vector<Lot> lots = options_.window_iterations > 0 ? cut_in_windows(order) : cut_by_degree(order);
    if (setting_.rounds.multiple > 1) give_all_enough(lots);
    std::vector<ComposedIteration> iterations;
    for (const Lot& lot : lots) iterations.push_back(compose(lot));
    return iterations;
  }

 private:
  std::vector<std::vector<ItemIndex>> cut(std::size_t degree, std::span<const ItemIndex> order) const {
    return cut_iterations(degrees_[degree].costs(), lengths_, order,
                          {.n_gpus = setting_.n_gpus,
                           .tokens_per_iteration = setting_.tokens_per_iteration,
                           .window_iterations = options_.window_iterations,
                           .rounds = &setting_.rounds});
  }

  std::vector<Lot> cut_by_degree(std::span<const ItemIndex> order) const {
    const std::vector<std::size_t> home_of = homes(order);
    std::vector<Lot> lots;
    std::vector<ItemIndex> own;
    for (std::size_t d = 0; d < degrees_.size(); ++d) {
      own.clear();
      for (const ItemIndex item : order) {
        if (home_of[static_cast<std::size_t>(lengths_[item])] == d) own.push_back(item);
      }
      for (std::vector<ItemIndex>& items : cut(d, own)) lots.push_back({d, std::move(items)});
    }
    return lots;
  }

  std::vector<Lot> cut_in_windows(std::span<const ItemIndex> order) const {
    std::int64_t longest = 0;
    for (const ItemIndex item : order) longest = std::max<std::int64_t>(longest, lengths_[item]);
    std::size_t degree = 0;
    while (degree + 1 < degrees_.size() && !degrees_[degree].holds(longest)) ++degree;
    std::vector<Lot> lots;
    for (std::vector<ItemIndex>& items : cut(degree, order)) lots.push_back({degree, std::move(items)});
    return lots;
  }

  // [longest length + 1] the degree of each length: of all sets of degrees, those whose least GPU time, with
  // half an iteration for each that is not full, is smallest.
  std::vector<std::size_t> homes(std::span<const ItemIndex> order) const {
    std::vector<std::int64_t> n_of_length;
    std::int64_t tokens = 0;
    for (const ItemIndex item : order) {
      const auto length = static_cast<std::size_t>(lengths_[item]);
      if (length >= n_of_length.size()) n_of_length.resize(length + 1);
      ++n_of_length[length];
      tokens += lengths_[item];
    }
    const double n_iterations =
        std::max(1.0, static_cast<double>(tokens) / static_cast<double>(setting_.tokens_per_iteration));
    std::vector<std::size_t> best(n_of_length.size());
    std::vector<std::size_t> home_of(n_of_length.size());
    double best_s = kNever;
    for (std::uint32_t set = 1; set < (1U << degrees_.size()); ++set) {
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
      if (used != set) continue;  // another set is the same
      gpu_s *= 1 + 0.5 * std::popcount(set) / n_iterations;
      if (gpu_s >= best_s) continue;
      best_s = gpu_s;
      best = home_of;
    }
    return best;
  }

  std::size_t needed(const Lot& lot) const {
    const int n_blocks = setting_.n_gpus / degrees_[lot.degree].costs().sp_degree(0);
    return static_cast<std::size_t>(setting_.rounds.multiple) * static_cast<std::size_t>(n_blocks);
  }

  // Lots with too few items for a pack on all GPUs get the shortest of those with most to spare.
  void give_all_enough(std::vector<Lot>& lots) const {
    for (Lot& lot : lots) {
      while (lot.items.size() < needed(lot)) {
        std::int64_t room = setting_.tokens_per_iteration;
        for (const ItemIndex item : lot.items) room -= lengths_[item];
        if (!take_one(lots, lot, room)) {
          throw std::invalid_argument("planner: expected at least " + std::to_string(needed(lot)) +
                                      " samples an iteration, a pack for each rank in each round of an "
                                      "interleaved pipeline, got " +
                                      std::to_string(lot.items.size()));
        }
      }
    }
  }

  bool take_one(std::vector<Lot>& lots, Lot& to, std::int64_t room) const {
    Lot* from = nullptr;
    for (Lot& lot : lots) {
      if (&lot == &to || lot.items.size() <= needed(lot)) continue;
      if (from == nullptr || lot.items.size() - needed(lot) > from->items.size() - needed(*from)) from = &lot;
    }
    if (from == nullptr) return false;
    const auto shortest =
        std::ranges::min_element(from->items, {}, [&](ItemIndex item) { return lengths_[item]; });
    if (lengths_[*shortest] > room || !degrees_[to.degree].holds(lengths_[*shortest])) return false;
    to.items.push_back(*shortest);
    from->items.erase(shortest);
    return true;
  }

  ComposedIteration compose(const Lot& lot) const {
    ComposedIteration best{.packs = {}, .time_s = kNever};
    for (std::size_t d = lot.degree; d < degrees_.size(); ++d) {
      ComposedIteration iteration =
          compose_rounds(degrees_[d].costs(), lengths_, lot.items, setting_.n_gpus, setting_.rounds);
      for (ComposedPack& pack : iteration.packs) pack.degree = d;
      if (iteration.time_s < best.time_s) best = std::move(iteration);
      if (options_.window_iterations == 0 && best.time_s < kNever) break;
    }
    if (best.packs.empty()) {
      throw std::invalid_argument("planner: expected samples that fill every round of a pipeline, got " +
                                  std::to_string(lot.items.size()) + " that do not");
    }
    return best;
  }

  const BatchSetting& setting_;
  const StrategyOptions& options_;
  std::span<const std::int32_t> lengths_;
  std::deque<Degree> degrees_;  // do not move
};

}  // namespace

std::vector<ComposedIteration> one_degree_iterations(const BatchProblem& problem, const DegreeCosts& costs,
                                                     std::span<const ItemIndex> order) {
  return Sorter(problem, costs).run(order);
}

}  // namespace packsim
