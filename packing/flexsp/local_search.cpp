#include "packing/flexsp/local_search.hpp"

#include <algorithm>
#include <limits>

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
  explicit Greedy(const AssignmentProblem& problem) : problem_(problem) {}

  double makespan_s(const Arrangement& arrangement, bool by_tokens) {
    open(arrangement);
    double makespan_s = 0;
    for (std::size_t q = problem_.buckets.size(); q-- > 0;) {
      for (std::int32_t i = 0; i < problem_.buckets[q].n_sequences; ++i) {
        const std::size_t p = best_group(q, by_tokens);
        if (p == degree_.size()) return kNever;
        time_s_[p] += problem_.degrees[degree_[p]].sequence_s[q];
        room_[p] -= problem_.buckets[q].boundary_tokens;
        makespan_s = std::max(makespan_s, time_s_[p]);
        if (assignment_ != nullptr) ++assignment_->groups[p].sequences[q];
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
  void open(const Arrangement& arrangement) {
    degree_.clear();
    for (std::size_t d = 0; d < arrangement.size(); ++d) {
      degree_.insert(degree_.end(), static_cast<std::size_t>(arrangement[d]), d);
    }
    time_s_.clear();
    room_.clear();
    for (const std::size_t d : degree_) {
      time_s_.push_back(problem_.degrees[d].fixed_s);
      room_.push_back(problem_.degrees[d].capacity_tokens);
    }
  }

  std::size_t best_group(std::size_t bucket, bool by_tokens) const {
    const std::int64_t tokens = problem_.buckets[bucket].boundary_tokens;
    std::size_t best = degree_.size();
    double best_key = kNever;
    for (std::size_t p = 0; p < degree_.size(); ++p) {
      if (room_[p] < tokens) continue;
      const AssignmentProblem::Degree& degree = problem_.degrees[degree_[p]];
      const double key = by_tokens ? -static_cast<double>(room_[p]) / degree.sp_degree
                                   : time_s_[p] + degree.sequence_s[bucket];
      if (key < best_key) {
        best_key = key;
        best = p;
      }
    }
    return best;
  }

  const AssignmentProblem& problem_;
  std::vector<std::size_t> degree_;  // [n_groups]
  std::vector<double> time_s_;
  std::vector<std::int64_t> room_;
  Assignment* assignment_ = nullptr;
};

struct Candidate {
  Arrangement arrangement;
  bool by_tokens = false;
  double makespan_s = kNever;
};

Candidate evaluate(Greedy& greedy, const Arrangement& arrangement) {
  Candidate candidate{.arrangement = arrangement, .makespan_s = greedy.makespan_s(arrangement, false)};
  if (candidate.makespan_s == kNever) {
    candidate.by_tokens = true;
    candidate.makespan_s = greedy.makespan_s(arrangement, true);
  }
  return candidate;
}

// One group of degree d becomes as many of the degree below as it has GPUs for, or the other way round.
bool split(const AssignmentProblem& problem, Arrangement& arrangement, std::size_t d) {
  if (d == 0 || arrangement[d] == 0) return false;
  --arrangement[d];
  arrangement[d - 1] += problem.degrees[d].sp_degree / problem.degrees[d - 1].sp_degree;
  return true;
}

bool merge(const AssignmentProblem& problem, Arrangement& arrangement, std::size_t d) {
  if (d == 0) return false;
  const int parts = problem.degrees[d].sp_degree / problem.degrees[d - 1].sp_degree;
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

Candidate climb(const AssignmentProblem& problem, Greedy& greedy, Candidate best) {
  for (bool better = true; better;) {
    better = false;
    const Arrangement from = best.arrangement;
    for (const Arrangement& arrangement : neighbours(problem, from)) {
      const Candidate candidate = evaluate(greedy, arrangement);
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
      if (other == slowest) continue;
      for (std::size_t give = 0; give < problem_.buckets.size(); ++give) {
        if (groups_[slowest].sequences[give] == 0) continue;
        for (std::size_t take = 0; take <= give; ++take) consider(slowest, other, give, take, best);
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

  double sequence_s(std::size_t group, std::size_t bucket) const {
    return problem_.degrees[groups_[group].degree].sequence_s[bucket];
  }
  std::int64_t capacity(std::size_t group) const {
    return problem_.degrees[groups_[group].degree].capacity_tokens;
  }

  void consider(std::size_t slowest, std::size_t other, std::size_t give, std::size_t take,
                Exchange& best) const {
    const bool back = take != give;
    if (back && groups_[other].sequences[take] == 0) return;
    const std::int64_t moved =
        problem_.buckets[give].boundary_tokens - (back ? problem_.buckets[take].boundary_tokens : 0);
    if (tokens_[other] + moved > capacity(other) || tokens_[slowest] - moved > capacity(slowest)) return;
    const double from_s =
        time_s_[slowest] - sequence_s(slowest, give) + (back ? sequence_s(slowest, take) : 0);
    const double to_s = time_s_[other] + sequence_s(other, give) - (back ? sequence_s(other, take) : 0);
    const double slower_s = std::max(from_s, to_s);
    if (slower_s < best.slower_s) best = {other, give, take, slower_s};
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

Found balanced(const AssignmentProblem& problem, Greedy& greedy, const Candidate& candidate) {
  Found found{candidate.arrangement, greedy.assign(candidate.arrangement, candidate.by_tokens)};
  drop_idle_groups(found.assignment);
  balance(problem, found.assignment);
  return found;
}

// As climb(), judging arrangements after the sequences have moved. Only those whose greedy assignment is not
// far off are worth the time.
void climb_balanced(const AssignmentProblem& problem, Greedy& greedy, double enough_s, Found& best) {
  constexpr double kFarOff = 1.1;
  for (bool better = true; better && best.makespan_s() > enough_s;) {
    better = false;
    const Arrangement from = best.arrangement;
    for (const Arrangement& arrangement : neighbours(problem, from)) {
      const Candidate candidate = evaluate(greedy, arrangement);
      if (candidate.makespan_s > best.makespan_s() * kFarOff) continue;
      Found found = balanced(problem, greedy, candidate);
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
  Greedy greedy(problem);
  std::optional<Found> best;
  for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
    Arrangement arrangement(problem.degrees.size(), 0);
    arrangement[d] = problem.n_gpus / problem.degrees[d].sp_degree;
    const Candidate candidate = climb(problem, greedy, evaluate(greedy, arrangement));
    if (candidate.makespan_s == kNever) continue;
    Found found = balanced(problem, greedy, candidate);
    if (!best || found.makespan_s() < best->makespan_s()) best = std::move(found);
    if (best->makespan_s() <= enough_s) break;
  }
  if (!best) return std::nullopt;
  climb_balanced(problem, greedy, enough_s, *best);
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
