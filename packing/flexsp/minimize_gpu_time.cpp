#include "packing/flexsp/minimize_gpu_time.hpp"

#include <algorithm>
#include <optional>

namespace packsim::flexsp {
namespace {

constexpr double kLeastGain =
    1e-9;  // of a group's GPU time, so that rounding makes nothing go round in circles

// A group with its time and tokens at hand.
struct Part {
  std::size_t kind = 0;
  std::vector<ItemIndex> items = {};
  double time_s = 0;
  std::int64_t tokens = 0;
};

class Economy {
 public:
  Economy(std::span<const std::int32_t> lengths, const Cluster& cluster, std::vector<PlacedGroup>& groups)
      : lengths_(lengths), cluster_(cluster) {
    for (PlacedGroup& group : groups) {
      std::vector<ItemIndex> items = std::move(group.items);
      std::ranges::sort(items, [&](ItemIndex a, ItemIndex b) {
        return lengths_[a] != lengths_[b] ? lengths_[a] > lengths_[b] : a < b;
      });
      Part part{.kind = group.kind};
      for (const ItemIndex item : items) add(part, item);
      limit_s_ = std::max(limit_s_, part.time_s);
      parts_.push_back(std::move(part));
    }
  }

  // Groups that no longer split, those of the highest degree first.
  void split_all() {
    for (std::size_t p = 0; p < parts_.size();) {
      std::optional<std::vector<Part>> smaller = split(parts_[p]);
      if (!smaller) {
        ++p;
        continue;
      }
      parts_[p] = std::move(smaller->back());
      smaller->pop_back();
      parts_.insert(parts_.end(), std::make_move_iterator(smaller->begin()),
                    std::make_move_iterator(smaller->end()));
    }
  }

  // Moves sequences to groups of lower degree that have time and room; true where one has moved.
  bool move_all() {
    std::ranges::stable_sort(parts_, [](const Part& a, const Part& b) { return a.kind > b.kind; });
    bool moved = false;
    for (Part& from : parts_) {
      const std::vector<ItemIndex> items = from.items;
      for (const ItemIndex item : items) {
        Part* to = cheapest(from, item);
        if (to == nullptr) continue;
        take(from, item);
        add(*to, item);
        moved = true;
      }
    }
    std::erase_if(parts_, [](const Part& part) { return part.items.empty(); });
    return moved;
  }

  std::vector<PlacedGroup> groups() && {
    std::vector<PlacedGroup> groups;
    for (Part& part : parts_) groups.push_back({.kind = part.kind, .items = std::move(part.items)});
    return groups;
  }

 private:
  const SequenceCost& cost(const Part& part) const { return cluster_.kinds[part.kind].cost; }
  int degree(const Part& part) const { return cluster_.kinds[part.kind].gpus_per_pack; }
  double gpu_s(const Part& part) const { return degree(part) * part.time_s; }

  double time_with_s(const Part& part, ItemIndex item) const {
    return (part.items.empty() ? cost(part).fixed_s : part.time_s) + cost(part).sequence_s(lengths_[item]);
  }
  bool holds(const Part& part, ItemIndex item) const {
    return part.tokens + lengths_[item] <= cluster_.kinds[part.kind].capacity_tokens &&
           time_with_s(part, item) <= limit_s_;
  }
  void add(Part& part, ItemIndex item) {
    part.time_s = time_with_s(part, item);
    part.tokens += lengths_[item];
    part.items.push_back(item);
  }
  // Adds the rest up anew, so that differences leave no trace.
  void take(Part& part, ItemIndex item) {
    Part rest{.kind = part.kind};
    for (const ItemIndex other : part.items) {
      if (other != item) add(rest, other);
    }
    part = std::move(rest);
  }

  // Splits a part into as many groups of the degree below as the GPUs make, if that takes less GPU time.
  std::optional<std::vector<Part>> split(const Part& part) {
    if (part.kind == 0) return std::nullopt;
    const auto n_parts = static_cast<std::size_t>(degree(part) / cluster_.kinds[part.kind - 1].gpus_per_pack);
    std::vector<Part> smaller(n_parts, Part{.kind = part.kind - 1});
    for (const ItemIndex item : part.items) {
      Part& emptiest = *std::ranges::min_element(smaller, {}, &Part::tokens);
      if (!holds(emptiest, item)) return std::nullopt;
      add(emptiest, item);
    }
    std::erase_if(smaller, [](const Part& one) { return one.items.empty(); });
    double after_s = 0;
    for (const Part& one : smaller) after_s += gpu_s(one);
    if (after_s >= gpu_s(part) * (1 - kLeastGain)) return std::nullopt;
    return smaller;
  }

  // The group where the sequence takes least GPU time; among equals the fullest.
  Part* cheapest(const Part& from, ItemIndex item) {
    const std::int32_t length = lengths_[item];
    double least_s = degree(from) * cost(from).sequence_s(length) * (1 - kLeastGain);
    Part* best = nullptr;
    for (Part& to : parts_) {
      if (to.kind >= from.kind || to.items.empty() || !holds(to, item)) continue;
      const double takes_s = degree(to) * cost(to).sequence_s(length);
      const bool better =
          takes_s < least_s || (best != nullptr && to.kind == best->kind && to.tokens > best->tokens);
      if (!better) continue;
      least_s = std::min(least_s, takes_s);
      best = &to;
    }
    return best;
  }

  std::span<const std::int32_t> lengths_;
  const Cluster& cluster_;
  std::vector<Part> parts_;
  double limit_s_ = 0;  // the slowest group at the start
};

}  // namespace

void minimize_gpu_time(std::span<const std::int32_t> lengths_tokens, const Cluster& cluster,
                       std::vector<PlacedGroup>& groups) {
  Economy economy(lengths_tokens, cluster, groups);
  do {
    economy.split_all();
  } while (economy.move_all());
  groups = std::move(economy).groups();
}

}  // namespace packsim::flexsp
