#include "planning/tune/tune.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>

#include "planning/tune/best_case.hpp"

namespace packsim {
namespace {

template <typename T>
void check_ascending(const std::vector<T>& values, const std::string& name) {
  const bool ascending = std::ranges::adjacent_find(values, std::greater_equal{}) == values.end();
  if (values.empty() || values.front() < 1 || !ascending)
    throw std::invalid_argument(name + ": expected at least one number, all over 0, ascending");
}

LengthAndDegree length_and_degree(const ProfiledCase& profiled) {
  return {.pack_tokens = profiled.pack_tokens, .sequence = profiled.sequence};
}

const ProfiledCase* best_of_length(const Tuning& tuning, std::int64_t pack_tokens) {
  const auto found = std::ranges::find(tuning.best, pack_tokens, &ProfiledCase::pack_tokens);
  return found == tuning.best.end() ? nullptr : &*found;
}

// Runs a length that is no candidate on single GPUs.
std::optional<TunedGroup> profile_on_one_gpu(const ListedLength& listed, int gc_layers_of_whole,
                                             const Profiler& profiler, Tuning& tuning) {
  const std::vector<ProfiledCase> cases = profiler(listed.pack_tokens, 1);
  std::ranges::copy(cases, std::back_inserter(tuning.cases));
  TunedGroup group{.pack_tokens = listed.pack_tokens,
                   .sequence = {.ulysses = 1},
                   .gc_layers = gc_layers_of_whole,
                   .roles = {listed.role},
                   .step_s = std::nullopt};
  const std::optional<ProfiledCase> best = best_case(cases);
  if (!best && !cases.empty()) return std::nullopt;
  if (best) group.gc_layers = best->gc_layers;
  if (best) group.step_s = best->step_s;
  return group;
}

std::optional<TunedGroup> make_group(const ListedLength& listed, const ProfiledCase& longest,
                                     const TuneRequest& request, const Profiler& profiler, Tuning& tuning) {
  if (std::ranges::find(request.lengths_tokens, listed.pack_tokens) == request.lengths_tokens.end()) {
    const ProfiledCase& whole = listed.role == LengthRole::gpu_of_fastest ? *tuning.fastest : longest;
    return profile_on_one_gpu(listed, whole.gc_layers, profiler, tuning);
  }
  const ProfiledCase* best = best_of_length(tuning, listed.pack_tokens);
  if (best == nullptr) return std::nullopt;
  return TunedGroup{.pack_tokens = best->pack_tokens,
                    .sequence = {.ulysses = best->sequence.ulysses},
                    .gc_layers = best->gc_layers,
                    .roles = {listed.role},
                    .step_s = best->step_s,
                    .tied = tied_degrees(cases_of_length(tuning.cases, best->pack_tokens), *best,
                                         request.near_tie_fraction)};
}

void choose_groups(const ProfiledCase& longest, const TuneRequest& request, const Profiler& profiler,
                   Tuning& tuning) {
  const auto listed = listed_lengths(length_and_degree(*tuning.fastest), length_and_degree(longest));
  for (const ListedLength& one : listed) {
    if (!tuning.groups.empty() && tuning.groups.back().pack_tokens == one.pack_tokens) {
      tuning.groups.back().roles.push_back(one.role);
    } else if (std::optional<TunedGroup> group = make_group(one, longest, request, profiler, tuning)) {
      tuning.groups.push_back(std::move(*group));
    } else {
      tuning.left_out.push_back({one, LeftOutLength::Reason::cannot_run});
    }
  }
  const ListedLength gpu_of_longest{longest.pack_tokens / longest.sequence.ulysses,
                                    LengthRole::gpu_of_longest};
  const bool is_listed = std::ranges::find(listed, gpu_of_longest.role, &ListedLength::role) != listed.end();
  const auto same = std::ranges::find(tuning.groups, gpu_of_longest.pack_tokens, &TunedGroup::pack_tokens);
  if (!is_listed && same == tuning.groups.end())
    tuning.left_out.push_back({gpu_of_longest, LeftOutLength::Reason::not_over_fastest});
}

void find_tied_lengths(const ProfiledCase& longest, const TuneRequest& request, Tuning& tuning) {
  for (const ProfiledCase& best : tuning.best) {
    if (best.pack_tokens == tuning.fastest->pack_tokens) continue;
    if (saved_fraction(*tuning.fastest, best) > request.near_tie_fraction) continue;
    const auto listed = listed_lengths(length_and_degree(best), length_and_degree(longest));
    tuning.tied_lengths.push_back({best, merged_lengths(listed)});
  }
  std::ranges::stable_sort(tuning.tied_lengths, {}, [](const TiedLength& tied) { return tied.best.step_s; });
}

}  // namespace

std::vector<std::int64_t> candidate_lengths(std::int64_t needed_tokens) {
  std::vector<std::int64_t> lengths = {8192};
  while (lengths.back() < needed_tokens) lengths.push_back(2 * lengths.back());
  return lengths;
}

Tuning tune(const TuneRequest& request, const Profiler& profiler) {
  check_ascending(request.lengths_tokens, "lengths_tokens");
  check_ascending(request.sp_degrees, "sp_degrees");
  Tuning tuning;
  for (const std::int64_t pack_tokens : request.lengths_tokens) {
    std::vector<ProfiledCase> cases;
    for (const int sp_degree : request.sp_degrees)
      std::ranges::move(profiler(pack_tokens, sp_degree), std::back_inserter(cases));
    if (const std::optional<ProfiledCase> best = best_case(cases)) tuning.best.push_back(*best);
    std::ranges::move(cases, std::back_inserter(tuning.cases));
  }
  tuning.fastest = best_case(tuning.best);
  const ProfiledCase* found = best_of_length(tuning, request.lengths_tokens.back());
  if (found == nullptr) return tuning;
  const ProfiledCase longest = *found;
  choose_groups(longest, request, profiler, tuning);
  find_tied_lengths(longest, request, tuning);
  return tuning;
}

}  // namespace packsim
