#include "planning/tune/tune.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <stdexcept>

#include "planning/tune/best_case.hpp"

using namespace packsim;

namespace {

constexpr std::int64_t kK = 1024;

ProfiledCase timed(std::int64_t pack_tokens, int sp_degree, int gc_layers, double step_s) {
  return {.pack_tokens = pack_tokens,
          .sequence = {.ulysses = sp_degree},
          .gc_layers = gc_layers,
          .step_s = step_s};
}

ProfiledCase blocked(std::int64_t pack_tokens, int sp_degree) {
  return {.pack_tokens = pack_tokens,
          .sequence = {.ulysses = sp_degree},
          .gc_layers = 32,
          .infeasible_reason = "does not fit"};
}

// A cluster that has been timed with these cases and can run no others.
Profiler table(std::vector<ProfiledCase> cases) {
  return [cases = std::move(cases)](std::int64_t pack_tokens, int sp_degree) {
    std::vector<ProfiledCase> found;
    std::ranges::copy_if(cases, std::back_inserter(found), [&](const ProfiledCase& one) {
      return one.pack_tokens == pack_tokens && one.sequence.ulysses == sp_degree;
    });
    return found;
  };
}

std::vector<std::int64_t> lengths_of(const Tuning& tuning) {
  std::vector<std::int64_t> lengths;
  for (const TunedGroup& group : tuning.groups) lengths.push_back(group.pack_tokens);
  return lengths;
}

// HBP (arXiv 2503.07680), table 19.
const std::vector<ProfiledCase> kTable19 = {timed(8 * kK, 2, 8, 2.69), timed(16 * kK, 1, 28, 2.65),
                                            timed(32 * kK, 8, 8, 2.83), timed(64 * kK, 4, 28, 3.01),
                                            timed(128 * kK, 8, 28, 3.05)};
const TuneRequest kRequest = {.lengths_tokens = {8 * kK, 16 * kK, 32 * kK, 64 * kK, 128 * kK},
                              .sp_degrees = {1, 2, 4, 8, 16}};

}  // namespace

TEST_CASE("Table 19 gives the published groups, 16K at SP 1 and 128K at SP 8") {
  const Tuning tuning = tune(kRequest, table(kTable19));
  REQUIRE(lengths_of(tuning) == std::vector<std::int64_t>{16 * kK, 128 * kK});
  CHECK(tuning.groups[0].sequence.ulysses == 1);
  CHECK(tuning.groups[0].gc_layers == 28);
  CHECK(tuning.groups[0].roles == std::vector{LengthRole::gpu_of_fastest, LengthRole::fastest});
  CHECK(tuning.groups[1].sequence.ulysses == 8);
  CHECK(tuning.groups[1].gc_layers == 28);
  CHECK(tuning.groups[1].roles == std::vector{LengthRole::longest});
  CHECK(tuning.cases == kTable19);
  CHECK(tuning.left_out.empty());  // 128K / 8 = 16K is not over 16K, and there is a group of it anyway
}

TEST_CASE("Table 19 has a near tie: 8K at SP 2 loses 1 - 2.65 / 2.69 = 1.49 %") {
  const Tuning tuning = tune(kRequest, table(kTable19));
  REQUIRE(tuning.tied_lengths.size() == 1);
  CHECK(tuning.tied_lengths[0].best == kTable19[0]);
  // l1 = 8K / 2, l2 = 128K / 8 = 16K, which is over 8K.
  CHECK(tuning.tied_lengths[0].group_lengths_tokens ==
        std::vector<std::int64_t>{4 * kK, 8 * kK, 16 * kK, 128 * kK});
  CHECK(saved_fraction(kTable19[1], kTable19[0]) == Approx(0.04 / 2.69));

  TuneRequest strict = kRequest;
  strict.near_tie_fraction = 0.0148;  // under 0.04 / 2.69 = 0.01487
  CHECK(tune(strict, table(kTable19)).tied_lengths.empty());
}

TEST_CASE("A length that is no candidate is profiled on one GPU") {
  // Fastest 32K at SP 8: l1 = 4K. Its own profile says 3 layers.
  std::vector<ProfiledCase> cases = {timed(32 * kK, 8, 8, 2.0), timed(128 * kK, 8, 28, 3.0)};
  const TuneRequest request{.lengths_tokens = {32 * kK, 128 * kK}, .sp_degrees = {8}};

  SECTION("which cannot run it: it takes the layers of the longer pack, and no time") {
    const Tuning tuning = tune(request, table(cases));
    REQUIRE(lengths_of(tuning) == std::vector<std::int64_t>{4 * kK, 32 * kK, 128 * kK});
    CHECK(tuning.groups[0].sequence.ulysses == 1);
    CHECK(tuning.groups[0].gc_layers == 8);
    CHECK_FALSE(tuning.groups[0].step_s.has_value());
    // 128K / 8 = 16K is not over 32K.
    REQUIRE(tuning.left_out.size() == 1);
    CHECK(tuning.left_out[0].listed == ListedLength{16 * kK, LengthRole::gpu_of_longest});
    CHECK(tuning.left_out[0].reason == LeftOutLength::Reason::not_over_fastest);
  }
  SECTION("which runs it") {
    cases.push_back(timed(4 * kK, 1, 3, 1.9));
    const Tuning tuning = tune(request, table(cases));
    REQUIRE(lengths_of(tuning) == std::vector<std::int64_t>{4 * kK, 32 * kK, 128 * kK});
    CHECK(tuning.groups[0].gc_layers == 3);
    CHECK(tuning.groups[0].step_s == 1.9);
    CHECK(tuning.cases.back() == cases.back());
  }
  SECTION("which it does not fit: there is no such group") {
    cases.push_back(blocked(4 * kK, 1));
    const Tuning tuning = tune(request, table(cases));
    CHECK(lengths_of(tuning) == std::vector<std::int64_t>{32 * kK, 128 * kK});
    REQUIRE(tuning.left_out.size() == 2);
    CHECK(tuning.left_out[0].listed.role == LengthRole::gpu_of_fastest);
    CHECK(tuning.left_out[0].reason == LeftOutLength::Reason::cannot_run);
  }
}

TEST_CASE("What one GPU holds of the longest pack is a group where it is over the fastest length") {
  const TuneRequest request{.lengths_tokens = {8 * kK, 128 * kK}, .sp_degrees = {1, 4}};
  const Tuning tuning = tune(request, table({timed(8 * kK, 1, 4, 2.0), timed(128 * kK, 4, 30, 3.0)}));
  // l1 = 8K = l_best, l2 = 128K / 4 = 32K.
  REQUIRE(lengths_of(tuning) == std::vector<std::int64_t>{8 * kK, 32 * kK, 128 * kK});
  CHECK(tuning.groups[1].roles == std::vector{LengthRole::gpu_of_longest});
  CHECK(tuning.groups[1].gc_layers == 30);  // of the 128K pack
  CHECK(tuning.left_out.empty());
}

TEST_CASE("A group of a candidate length has that length's best degree") {
  // l1 = 16K / 2 = 8K, which is a candidate and fastest at SP 2.
  const TuneRequest request{.lengths_tokens = {8 * kK, 16 * kK}, .sp_degrees = {1, 2}};
  const Tuning tuning =
      tune(request, table({timed(8 * kK, 1, 0, 2.4), timed(8 * kK, 2, 0, 2.2), timed(16 * kK, 2, 8, 2.0)}));
  REQUIRE(lengths_of(tuning) == std::vector<std::int64_t>{8 * kK, 16 * kK});
  CHECK(tuning.groups[0].sequence.ulysses == 2);
}

TEST_CASE("One group is left where the longest length is the fastest, on one GPU") {
  const TuneRequest request{.lengths_tokens = {8 * kK, 16 * kK}, .sp_degrees = {1}};
  const Tuning tuning = tune(request, table({timed(8 * kK, 1, 0, 2.4), timed(16 * kK, 1, 8, 2.0)}));
  REQUIRE(lengths_of(tuning) == std::vector<std::int64_t>{16 * kK});
  CHECK(tuning.groups[0].roles ==
        std::vector{LengthRole::gpu_of_fastest, LengthRole::fastest, LengthRole::longest});
}

TEST_CASE(
    "Another SP degree that is about as fast is named beside its group, once and with its best layers") {
  const TuneRequest request{.lengths_tokens = {16 * kK}, .sp_degrees = {1, 2, 4}};
  const Tuning tuning = tune(
      request, table({timed(16 * kK, 1, 28, 2.00), timed(16 * kK, 1, 30, 2.01), timed(16 * kK, 2, 8, 2.02),
                      timed(16 * kK, 2, 9, 2.03), timed(16 * kK, 4, 0, 2.50)}));
  REQUIRE(tuning.groups.size() == 1);
  CHECK(tuning.groups[0].gc_layers == 28);
  CHECK(tuning.groups[0].tied == std::vector{timed(16 * kK, 2, 8, 2.02)});
}

TEST_CASE("Without a way to run the longest packs there are no groups, and the profile is kept") {
  const TuneRequest request{.lengths_tokens = {8 * kK, 128 * kK}, .sp_degrees = {1}};
  const Tuning tuning = tune(request, table({timed(8 * kK, 1, 0, 2.4), blocked(128 * kK, 1)}));
  CHECK(tuning.groups.empty());
  CHECK(tuning.cases.size() == 2);
  REQUIRE(tuning.best.size() == 1);
  CHECK(tuning.fastest == tuning.best[0]);

  const Tuning nothing = tune(request, table({}));
  CHECK(nothing.cases.empty());
  CHECK_FALSE(nothing.fastest.has_value());
}

TEST_CASE("Of equally fast cases the smallest degree counts, then the fewest layers") {
  const std::vector<ProfiledCase> cases = {timed(8 * kK, 4, 0, 2), timed(8 * kK, 2, 9, 2),
                                           timed(8 * kK, 2, 8, 2)};
  CHECK(best_case(cases) == cases[2]);
  CHECK_FALSE(best_case(std::vector{blocked(8 * kK, 1)}).has_value());
}

TEST_CASE("Candidates that are none, not ascending or nothing are refused") {
  const Profiler profiler = table(kTable19);
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{}, {16, 8}, {8, 8}, {0, 8}}) {
    CHECK_THROWS_AS(tune({.lengths_tokens = lengths, .sp_degrees = {1}}, profiler), std::invalid_argument);
  }
  CHECK_THROWS_AS(tune({.lengths_tokens = {8}, .sp_degrees = {2, 1}}, profiler), std::invalid_argument);
  CHECK_THROWS_AS(listed_lengths({8, 0}, {8, 1}), std::invalid_argument);
  CHECK_THROWS_AS(listed_lengths({8, 1}, {8, 9}), std::invalid_argument);
  CHECK_THROWS_AS(listed_lengths({16, 1}, {8, 1}), std::invalid_argument);
}

TEST_CASE("Whatever the profile: groups ascend, end in the longest length, and hold the fastest one") {
  std::mt19937 generator(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<ProfiledCase> cases;
    for (const std::int64_t length : kRequest.lengths_tokens) {
      for (const int degree : kRequest.sp_degrees) {
        const bool runs = generator() % 4 != 0;
        const double step_s = 2 + static_cast<double>(generator() % 100) / 100;
        cases.push_back(runs ? timed(length, degree, static_cast<int>(generator() % 33), step_s)
                             : blocked(length, degree));
      }
    }
    const Tuning tuning = tune(kRequest, table(cases));
    // Lengths of l1 and l2 that are no candidates cannot be run by a table: the profile is what was given.
    CHECK(tuning.cases == cases);
    if (tuning.groups.empty()) {
      CHECK_FALSE(best_case(cases_of_length(cases, 128 * kK)).has_value());
      continue;
    }
    const std::vector<std::int64_t> lengths = lengths_of(tuning);
    CHECK(std::ranges::adjacent_find(lengths, std::ranges::greater_equal{}) == lengths.end());
    CHECK(lengths.back() == 128 * kK);
    CHECK(std::ranges::count(lengths, tuning.fastest->pack_tokens) == 1);
    for (const ProfiledCase& one : cases) CHECK((!one.feasible() || *one.step_s >= *tuning.fastest->step_s));
    for (const TunedGroup& group : tuning.groups) CHECK(group.roles.size() >= 1);
  }
}
