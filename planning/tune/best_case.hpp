#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planning/tune/profiled_case.hpp"

namespace packsim {

/// HBP's algorithm 3: the fastest case that can run; of equally fast ones the one with the smallest degree,
/// then the fewest checkpointed layers, then the shortest packs. Nothing where none can run.
std::optional<ProfiledCase> best_case(std::span<const ProfiledCase> cases);

/// The cases of one pack length.
std::vector<ProfiledCase> cases_of_length(std::span<const ProfiledCase> cases, std::int64_t pack_tokens);

/// The best case of every SP degree other than its own, if `best` saves at most
/// near_tie_fraction of its time. The fastest comes first. cases: of one length.
std::vector<ProfiledCase> tied_degrees(std::span<const ProfiledCase> cases, const ProfiledCase& best,
                                       double near_tie_fraction);

/// The part of other's time that `best` saves: 0 where they are equally fast. Both can run.
double saved_fraction(const ProfiledCase& best, const ProfiledCase& other);

}  // namespace packsim
