#include "packing/flexsp/local_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "packing/algorithms/never.hpp"

namespace packsim {
namespace {

constexpr double kLeastGain = 1e-9;  // of the makespan, so that rounding makes nothing go round in circles

// [n_degrees]: how many groups of each.
using Arrangement = std::vector<int>;

// The groups of one degree: soonest or, by_tokens, emptiest first, among equals the first. Each of their
// numbers has a list of its own, as a group that is copied as a whole right after one number has changed
// costs a dozen cycles more.
class GroupQueue {
 public:
  struct Given {
    double time_s = 0;      // of the group, from now on
    std::size_t group = 0;  // ascending over degrees
  };

  void open(const AssignmentProblem::Degree& degree, int n_groups, std::size_t first_group) {
    sequence_s_ = degree.sequence_s.data();
    gpus_ = degree.gpus_per_pack;
    begin_ = 0;
    size_ = static_cast<std::size_t>(n_groups);
    time_s_.assign(2 * size_, degree.fixed_s);
    room_.assign(2 * size_, degree.capacity_tokens);
    group_.resize(2 * size_);
    std::iota(group_.begin(), group_.end(), first_group);
  }

  // Finds the next group with room for a sequence. Returns when it will be done with it or, by_tokens, how
  // little room each of its GPUs has; kNever where there is none.
  template <bool by_tokens>
  double find(std::size_t bucket, std::int64_t tokens) {
    next_ = begin_;
    if constexpr (by_tokens)
      return room_[next_] < tokens ? kNever : -(static_cast<double>(room_[next_]) / gpus_);
    while (room_[next_] < tokens) {
      if (++next_ == begin_ + size_) return kNever;
    }
    return time_s_[next_] + sequence_s_[bucket];
  }

  // Gives a sequence to the group that was found.
  template <bool by_tokens>
  Given give(std::size_t bucket, std::int64_t tokens) {
    const double time_s = time_s_[next_] + sequence_s_[bucket];
    const std::int64_t room = room_[next_] - tokens;
    const std::size_t group = group_[next_];
    const std::size_t place = next_ > begin_ ? move_back<by_tokens>(time_s, room, group)
                                             : move_front<by_tokens>(time_s, room, group);
    time_s_[place] = time_s;
    room_[place] = room;
    group_[place] = group;
    return {time_s, group};
  }

 private:
  // Whether the group at this place comes before one with these numbers.
  template <bool by_tokens>
  bool is_before(std::size_t place, double time_s, std::int64_t room, std::size_t group) const {
    if constexpr (by_tokens) return room_[place] != room ? room_[place] > room : group_[place] < group;
    return time_s_[place] != time_s ? time_s_[place] < time_s : group_[place] < group;
  }
  void copy(std::size_t from, std::size_t to) {
    time_s_[to] = time_s_[from];
    room_[to] = room_[from];
    group_[to] = group_[from];
  }

  // Both make room for the changed group, and return its new place.
  template <bool by_tokens>
  std::size_t move_back(double time_s, std::int64_t room, std::size_t group) {
    std::size_t place = next_;
    for (; place + 1 < begin_ + size_ && is_before<by_tokens>(place + 1, time_s, room, group); ++place)
      copy(place + 1, place);
    return place;
  }

  // The first group mostly becomes one of the last. So the queue moves on by one place, and the others make
  // room from its end on.
  template <bool by_tokens>
  std::size_t move_front(double time_s, std::int64_t room, std::size_t group) {
    if (size_ == 1 || !is_before<by_tokens>(begin_ + 1, time_s, room, group)) return begin_;
    if (begin_ == size_) {
      for (std::size_t i = 0; i < size_; ++i) copy(begin_ + i, i);
      begin_ = 0;
    }
    ++begin_;
    std::size_t place = begin_ + size_ - 1;
    for (; !is_before<by_tokens>(place - 1, time_s, room, group); --place) copy(place - 1, place);
    return place;
  }

  const double* sequence_s_ = nullptr;
  int gpus_ = 1;
  // [2 x size_], the groups of the queue from begin_ on.
  std::vector<double> time_s_;
  std::vector<std::int64_t> room_;  // tokens
  std::vector<std::size_t> group_;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

// Longest sequence first, each to the group with room that has it done first or, `by_tokens`, that is
// emptiest in proportion, which finds room where it is scarce. The makespan is infinite where there is none.
class Greedy {
 public:
  explicit Greedy(const AssignmentProblem& problem)
      : problem_(problem), queues_(problem.degrees.size()), costs_(queues_.size()) {}

  double makespan_s(const Arrangement& arrangement, bool by_tokens) {
    open(arrangement);
    return by_tokens ? fill<true>() : fill<false>();
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
    n_queues_ = 0;
    std::size_t first_group = 0;
    for (std::size_t d = 0; d < arrangement.size(); ++d) {
      if (arrangement[d] == 0) continue;
      queues_[n_queues_++].open(problem_.degrees[d], arrangement[d], first_group);
      first_group += static_cast<std::size_t>(arrangement[d]);
    }
  }

  template <bool by_tokens>
  double fill() {
    double makespan_s = 0;
    for (std::size_t q = problem_.buckets.size(); q-- > 0;) {
      const std::int64_t tokens = problem_.buckets[q].boundary_tokens;
      for (std::size_t i = 0; i < n_queues_; ++i) costs_[i] = queues_[i].find<by_tokens>(q, tokens);
      for (std::int32_t n = problem_.buckets[q].n_sequences; n > 0; --n) {
        const std::size_t best = cheapest();
        if (costs_[best] == kNever) return kNever;
        const GroupQueue::Given given = queues_[best].give<by_tokens>(q, tokens);
        makespan_s = std::max(makespan_s, given.time_s);
        if (assignment_ != nullptr) ++assignment_->groups[given.group].sequences[q];
        costs_[best] = queues_[best].find<by_tokens>(q, tokens);
      }
    }
    return makespan_s;
  }

  // The lowest degree wins among equally cheap ones.
  std::size_t cheapest() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < n_queues_; ++i) best = costs_[i] < costs_[best] ? i : best;
    return best;
  }

  const AssignmentProblem& problem_;
  // Queues of degrees that have groups come first, ascending, with what they found.
  std::vector<GroupQueue> queues_;
  std::vector<double> costs_;
  std::size_t n_queues_ = 0;
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

// This climbs as climb() does, but judges arrangements after the sequences have moved. Only those whose
// greedy assignment is not far off are worth the time, and once.
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
