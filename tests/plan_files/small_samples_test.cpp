// What the complete check says of the counts of cut samples: the last that can be, and the next.

#include <catch2/catch.hpp>

#include "tests/plan_files/small_tables.hpp"

namespace packsim::testing {
namespace {

// Packs of one piece each, of samples of `n` pieces, one after another. More: what the facts say beyond that.
struct CutSamples {
  std::vector<std::vector<std::int32_t>> pieces;  // [n_samples][n_pieces], none: the sample has no piece
  OverLong over_long = OverLong::split;
  PackCounts more = {};
  std::vector<std::int32_t> all_lengths = {};  // that the hash is of
};

std::string refusal_of_cut(const CutSamples& how) {
  SmallPlan plan{.packs = {}, .iterations = {}, .capacity_tokens = 4};
  std::vector<std::uint32_t> piece_samples;
  std::vector<std::int32_t> piece_starts;
  PackCounts counts = how.more;
  for (std::uint32_t sample = 0; sample < how.pieces.size(); ++sample) {
    std::int32_t start = 0;
    for (const std::int32_t length : how.pieces[sample]) {
      plan.iterations.push_back({static_cast<std::uint32_t>(plan.packs.size())});
      plan.packs.push_back({length});
      piece_samples.push_back(sample);
      piece_starts.push_back(start);
      start += length;
    }
    counts.n_tokens += start;
    counts.split_samples += how.pieces[sample].size() > 1 ? 1 : 0;
  }
  counts.n_samples += static_cast<std::int64_t>(how.pieces.size());
  OwnTables tables = small_tables(plan);
  tables.piece_samples = piece_samples;
  tables.piece_starts = piece_starts;
  tables.facts.counts = counts;
  tables.facts.over_long = how.over_long;
  if (!how.all_lengths.empty()) tables.facts.lengths_hash = hash_of_lengths(how.all_lengths);
  return tables.refusal();
}

}  // namespace

TEST_CASE("As many samples may be truncated as have the longest length, each by a token or more") {
  const auto refusal_of = [](const std::vector<std::vector<std::int32_t>>& pieces, std::int64_t n_samples,
                             std::int64_t n_tokens) {
    return refusal_of_cut(
        {.pieces = pieces,
         .over_long = OverLong::truncate,
         .more = {.n_tokens = n_tokens, .truncated_samples = n_samples, .truncated_tokens = n_tokens}});
  };
  CHECK(refusal_of({{4}, {4}, {3}}, 2, 2) == "");
  CHECK(refusal_of({{4}, {4}, {3}}, 1, 9) == "");
  CHECK(refusal_of({{4}, {4}, {3}}, 2, 1) ==
        "facts: /truncated_tokens: expected those of 2 truncated samples, got 1");
  CHECK(refusal_of({{4}, {4}, {3}}, 0, 1) ==
        "facts: /truncated_tokens: expected those of 0 truncated samples, got 1");
  CHECK(
      refusal_of({{4}, {4}, {3}}, 3, 3) ==
      "facts: /truncated_samples: expected at most 2, the samples of 4 tokens, the longest in packs, got 3");
  CHECK(
      refusal_of({{3}, {3}, {4}}, 2, 2) ==
      "facts: /truncated_samples: expected at most 1, the samples of 4 tokens, the longest in packs, got 2");
}

TEST_CASE("Samples without a piece are dropped, of a token or more each, or empty") {
  const auto refusal_of = [](std::int64_t n_dropped, std::int64_t n_tokens, std::int64_t n_empty) {
    return refusal_of_cut({.pieces = {{4}, {}, {3}, {}},
                           .over_long = OverLong::drop,
                           .more = {.n_tokens = n_tokens,
                                    .dropped_samples = n_dropped,
                                    .dropped_tokens = n_tokens,
                                    .empty_samples = n_empty},
                           .all_lengths = {4, 0, 3, 0}});
  };
  const std::string is_other =
      "facts: /dropped_samples and /empty_samples: expected 2, the samples without a piece, ";
  CHECK(refusal_of(0, 0, 2) == "");
  CHECK(refusal_of(1, 1, 1) == "");
  CHECK(refusal_of(2, 2, 0) == "");
  CHECK(refusal_of(2, 1, 0) == "facts: /dropped_tokens: expected those of 2 dropped samples, got 1");
  CHECK(refusal_of(0, 1, 2) == "facts: /dropped_tokens: expected those of 0 dropped samples, got 1");
  CHECK(refusal_of(1, 1, 0) == is_other + "got 1 and 0");
  CHECK(refusal_of(1, 1, 2) == is_other + "got 1 and 2");
  CHECK(refusal_of(3, 3, 0) == is_other + "got 3 and 0");
}

TEST_CASE("The hash of cut samples is that of their whole lengths, 0 where there is no piece") {
  CHECK(refusal_of_cut({.pieces = {{}, {4, 4, 1}, {}, {}, {2}, {}},
                        .more = {.empty_samples = 4},
                        .all_lengths = {0, 9, 0, 0, 2, 0}}) == "");
  CHECK(refusal_of_cut(
            {.pieces = {{}, {4, 4, 1}, {2}}, .more = {.empty_samples = 1}, .all_lengths = {9, 0, 2}}) ==
        "facts: /lengths_hash: expected " + hash_of_lengths(std::vector<std::int32_t>{0, 9, 2}) +
            ", the hash of lengths_tokens, got " + hash_of_lengths(std::vector<std::int32_t>{9, 0, 2}));
}

TEST_CASE("Only samples that may be cut have several pieces") {
  CHECK(refusal_of_cut({.pieces = {{4, 1}, {2}}, .all_lengths = {5, 2}}) == "");
  CHECK(refusal_of_cut({.pieces = {{4, 1}, {2}}, .over_long = OverLong::error, .all_lengths = {5, 2}}) ==
        "piece_samples: expected samples of one piece, as over_long is error, got 1 of several");
}

}  // namespace packsim::testing
