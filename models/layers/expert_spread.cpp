#include "models/layers/expert_spread.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace packsim {
namespace {

// Groups of experts, as one part sees them.
struct GroupsOfPart {
  int n_outside = 0;  // groups that have none of their experts in the part
  /// Experts outside of the part in each group that it cuts; it cuts two at most.
  std::array<double, 2> outside_of_cut = {};
  int n_cut = 0;
};

GroupsOfPart groups_of_part(const Experts& experts, int part, int n_parts) {
  const double group_size = 1.0 * experts.n_routed / experts.n_groups;
  const double first = 1.0 * experts.n_routed * part / n_parts;
  const double last = 1.0 * experts.n_routed * (part + 1) / n_parts;
  GroupsOfPart groups;
  for (int group = 0; group < experts.n_groups; ++group) {
    const double inside = std::min(last, (group + 1) * group_size) - std::max(first, group * group_size);
    if (inside <= 0) {
      ++groups.n_outside;
    } else if (inside < group_size) {
      groups.outside_of_cut[static_cast<std::size_t>(groups.n_cut++)] = group_size - inside;
    }
  }
  return groups;
}

// Goes through the experts from the best score down. As long as fewer groups have come up than a token may
// use, every expert is taken; after that those of these groups alone. With scores that are alike, the next
// expert is any of those that may be taken.
class Draw {
 public:
  Draw(const Experts& experts, const GroupsOfPart& groups) : experts_(experts), groups_(groups) {
    // [groups outside of the part that came up][which of the cut groups did, a bit each]
    chances_.assign(static_cast<std::size_t>(experts.groups_per_token) + 1, {});
    chances_[0][0] = 1;
  }

  // The chance that none of a token's experts is in the part.
  double none() {
    for (int taken = 0; taken < experts_.per_token; ++taken) take(taken);
    double sum = 0;
    for (const auto& of_outside : chances_) {
      for (const double chance : of_outside) sum += chance;
    }
    return sum;
  }

 private:
  using Chances = std::vector<std::array<double, 4>>;

  void take(int taken) {
    const double group_size = 1.0 * experts_.n_routed / experts_.n_groups;
    Chances next(chances_.size());
    for (int outside = 0; outside <= experts_.groups_per_token; ++outside) {
      for (unsigned cut = 0; cut < 4; ++cut) {
        const double chance = chances_[static_cast<std::size_t>(outside)][cut];
        if (chance == 0) continue;
        const int seen = outside + static_cast<int>(cut & 1U) + static_cast<int>(cut >> 1U);
        const bool is_open = seen < experts_.groups_per_token;
        const double left = (is_open ? experts_.n_routed : experts_.groups_per_token * group_size) - taken;
        const auto add = [&](int to_outside, unsigned to_cut, double n_experts) {
          if (n_experts > 0) next[static_cast<std::size_t>(to_outside)][to_cut] += chance * n_experts / left;
        };
        double of_seen = outside * group_size - taken;
        for (unsigned i = 0; i < 2; ++i) {
          const double outside_of_part = groups_.outside_of_cut[i];
          if ((cut >> i & 1U) != 0) {
            of_seen += outside_of_part;
          } else if (is_open && static_cast<int>(i) < groups_.n_cut) {
            add(outside, cut | 1U << i, outside_of_part);
          }
        }
        add(outside, cut, of_seen);
        if (is_open) add(outside + 1, cut, (groups_.n_outside - outside) * group_size);
      }
    }
    chances_ = std::move(next);
  }

  const Experts& experts_;
  const GroupsOfPart& groups_;
  Chances chances_;
};

}  // namespace

double parts_with_experts(const Experts& experts, int n_parts) {
  double with_experts = 0;
  for (int part = 0; part < n_parts; ++part) {
    const GroupsOfPart groups = groups_of_part(experts, part, n_parts);
    with_experts += 1 - Draw(experts, groups).none();
  }
  return with_experts;
}

}  // namespace packsim
