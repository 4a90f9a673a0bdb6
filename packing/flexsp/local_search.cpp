#include "packing/flexsp/local_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace packsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLeastGain = 1e-9;  // of the makespan, so that rounding makes nothing go round in circles

// [n_degrees]: how many groups of each.
using Arrangement = std::vector<int>;

// Longest sequence first, each to the group with room that has it done first or, `by_tokens`, that is
// emptiest in proportion, which finds room where it is scarce. The makespan is infinite where there is none.
class Greedy {
 public:
  explicit Greedy(const AssignmentProblem& problem) : problem_(problem), groups_(problem.degrees.size()) {}

  double makespan_s(const Arrangement& arrangement, bool by_tokens) {
    open(arrangement);
    double makespan_s = 0;
    for (std::size_t q = problem_.buckets.size(); q-- > 0;) {
      for (std::int32_t i = 0; i < problem_.buckets[q].n_sequences; ++i) {
        const Place best = by_tokens ? emptiest(q) : soonest(q);
        if (best.degree == groups_.size()) return kNever;
        Group group = groups_[best.degree][best.position];
        group.time_s += problem_.degrees[best.degree].sequence_s[q];
        group.room -= problem_.buckets[q].boundary_tokens;
        makespan_s = std::max(makespan_s, group.time_s);
        if (assignment_ != nullptr) ++assignment_->groups[group.index].sequences[q];
        put_back(best, group, by_tokens);
      }
    }
    return makespan_s;
  }

  // The same, written down.
  Assignment assign(const Arrangement& arrangement, bool by_tokens) {
    Assignment assignment;
    for (std::size_t d = 0; d < arrangement.size(); ++d) {
      const Assignment::Group group{.degree = d,
                                    .sequences = std::vector<std::int32_t>(problem_.buckets.size())};
      assignment.groups.insert(assignment.groups.end(), static_cast<std::size_t>(arrangement[d]), group);
    }
    assignment_ = &assignment;
    assignment.makespan_s = makespan_s(arrangement, by_tokens);
    assignment_ = nullptr;
    return assignment;
  }

 private:
  struct Group {
    double time_s = 0;
    std::int64_t room = 0;  // tokens
    std::size_t index = 0;  // ascending over degrees
  };
  // Of a group: groups_[degree][position]. No group: one degree too many.
  struct Place {
    std::size_t degree = 0;
    std::size_t position = 0;
  };

  void open(const Arrangement& arrangement) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < arrangement.size(); ++d) {
      groups_[d].clear();
      for (int n = 0; n < arrangement[d]; ++n)
        groups_[d].push_back({problem_.degrees[d].fixed_s, problem_.degrees[d].capacity_tokens, index++});
    }
  }

  // Of each degree the first group with room is the soonest one.
  Place soonest(std::size_t bucket) const {
    const std::int64_t tokens = problem_.buckets[bucket].boundary_tokens;
    Place best{.degree = groups_.size()};
    double soonest_s = kNever;
    for (std::size_t d = 0; d < groups_.size(); ++d) {
      const auto group = std::ranges::find_if(groups_[d], [&](const Group& g) { return g.room >= tokens; });
      if (group == groups_[d].end()) continue;
      const double end_s = group->time_s + problem_.degrees[d].sequence_s[bucket];
      if (end_s >= soonest_s) continue;
      soonest_s = end_s;
      best = {d, static_cast<std::size_t>(group - groups_[d].begin())};
    }
    return best;
  }

  // Of each degree the first group has the most room.
  Place emptiest(std::size_t bucket) const {
    const std::int64_t tokens = problem_.buckets[bucket].boundary_tokens;
    Place best{.degree = groups_.size()};
    double most = -kNever;
    for (std::size_t d = 0; d < groups_.size(); ++d) {
      if (groups_[d].empty() || groups_[d].front().room < tokens) continue;
      const double room = static_cast<double>(groups_[d].front().room) / problem_.degrees[d].gpus_per_pack;
      if (room <= most) continue;
      most = room;
      best = {d, 0};
    }
    return best;
  }

  // Keeps the groups of a degree in order: soonest or emptiest first, among equals the first.
  void put_back(Place place, const Group& changed, bool by_tokens) {
    std::vector<Group>& groups = groups_[place.degree];
    const auto before = [&](const Group& a, const Group& b) {
      if (by_tokens) return a.room != b.room ? a.room > b.room : a.index < b.index;
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.index < b.index;
    };
    std::size_t position = place.position;
    for (; position + 1 < groups.size() && before(groups[position + 1], changed); ++position)
      groups[position] = groups[position + 1];
    groups[position] = changed;
  }

  const AssignmentProblem& problem_;
  std::vector<std::vector<Group>> groups_;  // [n_degrees]
  Assignment* assignment_ = nullptr;
};

struct Candidate {
  Arrangement arrangement;
  bool by_tokens = false;
  double makespan_s = kNever;
};

// Arrangements with their greedy makespans, each worked out once.
class Evaluations {
 public:
  explicit Evaluations(const AssignmentProblem& problem) : greedy_(problem) {}

  const Candidate& operator()(const Arrangement& arrangement) {
    const auto [known, is_new] = known_.try_emplace(arrangement);
    Candidate& candidate = known->second;
    if (!is_new) return candidate;
    candidate = {.arrangement = arrangement, .makespan_s = greedy_.makespan_s(arrangement, false)};
    if (candidate.makespan_s == kNever) {
      candidate.by_tokens = true;
      candidate.makespan_s = greedy_.makespan_s(arrangement, true);
    }
    return candidate;
  }

  Assignment assign(const Candidate& candidate) {
    return greedy_.assign(candidate.arrangement, candidate.by_tokens);
  }

 private:
  Greedy greedy_;
  std::map<Arrangement, Candidate> known_;
};

// One group of degree d becomes as many of the degree below as it has GPUs for, or the other way round.
bool split(const AssignmentProblem& problem, Arrangement& arrangement, std::size_t d) {
  if (d == 0 || arrangement[d] == 0) return false;
  --arrangement[d];
  arrangement[d - 1] += problem.degrees[d].gpus_per_pack / problem.degrees[d - 1].gpus_per_pack;
  return true;
}

bool merge(const AssignmentProblem& problem, Arrangement& arrangement, std::size_t d) {
  if (d == 0) return false;
  const int parts = problem.degrees[d].gpus_per_pack / problem.degrees[d - 1].gpus_per_pack;
  if (arrangement[d - 1] < parts) return false;
  ++arrangement[d];
  arrangement[d - 1] -= parts;
  return true;
}

// All arrangements one split or merge, or one of each, away.
std::vector<Arrangement> neighbours(const AssignmentProblem& problem, const Arrangement& arrangement) {
  std::vector<Arrangement> found;
  for (std::size_t d = 1; d < arrangement.size(); ++d) {
    for (const bool first_split : {true, false}) {
      Arrangement one = arrangement;
      if (!(first_split ? split(problem, one, d) : merge(problem, one, d))) continue;
      found.push_back(one);
      for (std::size_t e = 1; e < arrangement.size(); ++e) {
        Arrangement two = one;
        if (first_split ? merge(problem, two, e) : split(problem, two, e)) found.push_back(two);
        two = one;
        if (first_split ? split(problem, two, e) : merge(problem, two, e)) found.push_back(two);
      }
    }
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

Candidate climb(const AssignmentProblem& problem, Evaluations& evaluate, Candidate best) {
  for (bool better = true; better;) {
    better = false;
    const Arrangement from = best.arrangement;
    for (const Arrangement& arrangement : neighbours(problem, from)) {
      const Candidate& candidate = evaluate(arrangement);
      if (candidate.makespan_s < best.makespan_s * (1 - kLeastGain)) {
        best = candidate;
        better = true;
      }
    }
  }
  return best;
}

void drop_idle_groups(Assignment& assignment) {
  std::erase_if(assignment.groups, [](const Assignment::Group& group) {
    return std::ranges::all_of(group.sequences, [](std::int32_t n) { return n == 0; });
  });
}

// Groups with their times and tokens at hand, and the exchanges between two of them.
class Balance {
 public:
  Balance(const AssignmentProblem& problem, Assignment& assignment)
      : problem_(problem), groups_(assignment.groups) {
    for (const Assignment::Group& group : groups_) {
      time_s_.push_back(group_s(problem, group));
      tokens_.push_back(group_tokens(problem, group));
    }
  }

  double makespan_s() const { return *std::ranges::max_element(time_s_); }

  // Gives a sequence of the slowest group to another group, perhaps for one of its own, so that the slower of
  // the two is as fast as can be. False where that is no gain.
  bool relieve() {
    const auto slowest = static_cast<std::size_t>(std::ranges::max_element(time_s_) - time_s_.begin());
    Exchange best{.slower_s = time_s_[slowest] * (1 - kLeastGain)};
    for (std::size_t other = 0; other < groups_.size(); ++other) {
      // What it takes is longer than what it gives, so it ends no sooner than now.
      if (other == slowest || time_s_[other] >= best.slower_s) continue;
      for (std::size_t give = 0; give < problem_.buckets.size(); ++give) {
        if (groups_[slowest].sequences[give] > 0) consider(slowest, other, give, best);
      }
    }
    if (best.other == kNobody) return false;
    carry_out(slowest, best);
    return true;
  }

 private:
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

  // take == give: nothing comes back.
  struct Exchange {
    std::size_t other = kNobody;
    std::size_t give = 0;
    std::size_t take = 0;
    double slower_s = 0;
  };

  const AssignmentProblem::Degree& degree(std::size_t group) const {
    return problem_.degrees[groups_[group].degree];
  }

  // Giving a sequence of a bucket, and taking none or a shorter one.
  void consider(std::size_t slowest, std::size_t other, std::size_t give, Exchange& best) const {
    const std::vector<double>& from_sequence_s = degree(slowest).sequence_s;
    const std::vector<double>& to_sequence_s = degree(other).sequence_s;
    const double from_s = time_s_[slowest] - from_sequence_s[give];
    const double to_s = time_s_[other] + to_sequence_s[give];
    if (from_s >= best.slower_s) return;
    const std::int64_t from_room = degree(slowest).capacity_tokens - tokens_[slowest];
    const std::int64_t to_room = degree(other).capacity_tokens - tokens_[other];
    const std::int64_t given = problem_.buckets[give].boundary_tokens;
    for (std::size_t take = 0; take < give; ++take) {
      if (groups_[other].sequences[take] == 0) continue;
      const std::int64_t moved = given - problem_.buckets[take].boundary_tokens;
      if (moved > to_room || -moved > from_room) continue;
      const double slower_s = std::max(from_s + from_sequence_s[take], to_s - to_sequence_s[take]);
      if (slower_s < best.slower_s) best = {other, give, take, slower_s};
    }
    if (given > to_room) return;
    const double slower_s = std::max(from_s, to_s);
    if (slower_s < best.slower_s) best = {other, give, give, slower_s};
  }

  void carry_out(std::size_t slowest, const Exchange& exchange) {
    --groups_[slowest].sequences[exchange.give];
    ++groups_[exchange.other].sequences[exchange.give];
    if (exchange.take != exchange.give) {
      ++groups_[slowest].sequences[exchange.take];
      --groups_[exchange.other].sequences[exchange.take];
    }
    for (const std::size_t p : {slowest, exchange.other}) {
      time_s_[p] = group_s(problem_, groups_[p]);
      tokens_[p] = group_tokens(problem_, groups_[p]);
    }
  }

  const AssignmentProblem& problem_;
  std::vector<Assignment::Group>& groups_;
  std::vector<double> time_s_;
  std::vector<std::int64_t> tokens_;
};

// An arrangement with its balanced assignment.
struct Found {
  Arrangement arrangement;
  Assignment assignment;
  double makespan_s() const { return assignment.makespan_s; }
};

Found balanced(const AssignmentProblem& problem, Evaluations& evaluate, const Candidate& candidate) {
  Found found{candidate.arrangement, evaluate.assign(candidate)};
  drop_idle_groups(found.assignment);
  balance(problem, found.assignment);
  return found;
}

// As climb(), judging arrangements after the sequences have moved. Only those whose greedy assignment is not
// far off are worth the time, and once.
void climb_balanced(const AssignmentProblem& problem, Evaluations& evaluate, double enough_s, Found& best) {
  constexpr double kFarOff = 1.1;
  std::set<Arrangement> tried;
  for (bool better = true; better && best.makespan_s() > enough_s;) {
    better = false;
    const Arrangement from = best.arrangement;
    for (const Arrangement& arrangement : neighbours(problem, from)) {
      const Candidate& candidate = evaluate(arrangement);
      if (candidate.makespan_s > best.makespan_s() * kFarOff) continue;
      if (!tried.insert(arrangement).second) continue;
      Found found = balanced(problem, evaluate, candidate);
      if (found.makespan_s() >= best.makespan_s() * (1 - kLeastGain)) continue;
      best = std::move(found);
      better = true;
    }
  }
}

}  // namespace

void balance(const AssignmentProblem& problem, Assignment& assignment) {
  if (assignment.groups.empty()) return;
  Balance board(problem, assignment);
  while (board.relieve()) {
  }
  drop_idle_groups(assignment);
  assignment.makespan_s = 0;
  for (const Assignment::Group& group : assignment.groups) {
    assignment.makespan_s = std::max(assignment.makespan_s, group_s(problem, group));
  }
}

std::optional<Assignment> local_search(const AssignmentProblem& problem, double gap_fraction) {
  const double enough_s = makespan_bound_s(problem) * (1 + gap_fraction);
  Evaluations evaluate(problem);
  std::optional<Found> best;
  for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
    Arrangement arrangement(problem.degrees.size(), 0);
    arrangement[d] = problem.n_gpus / problem.degrees[d].gpus_per_pack;
    const Candidate candidate = climb(problem, evaluate, evaluate(arrangement));
    if (candidate.makespan_s == kNever) continue;
    Found found = balanced(problem, evaluate, candidate);
    if (!best || found.makespan_s() < best->makespan_s()) best = std::move(found);
    if (best->makespan_s() <= enough_s) break;
  }
  if (!best) return std::nullopt;
  climb_balanced(problem, evaluate, enough_s, *best);
  return std::move(best->assignment);
}

std::optional<Assignment> LocalSearchSolver::solve(const AssignmentProblem& problem, const SolveLimits&,
                                                   const std::optional<Assignment>& start) {
  std::optional<Assignment> best = start;
  if (best) balance(problem, *best);
  std::optional<Assignment> found = local_search(problem, gap_fraction_);
  if (found && (!best || found->makespan_s < best->makespan_s)) best = std::move(found);
  return best;
}

}  // namespace packsim
