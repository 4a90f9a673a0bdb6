#include "experiment/results/length_summary.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <vector>

using namespace packsim;

TEST_CASE("bins double, have no gaps and add up to the data set") {
  const std::vector<std::int32_t> lengths = {3, 4, 5, 8, 9, 64, 0};
  const LengthSummary summary = summarize_lengths(lengths);
  CHECK(summary.n_samples == 7);
  CHECK(summary.n_tokens == 93);
  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  for (std::size_t b = 0; b < summary.histogram.size(); ++b) {
    n_samples += summary.histogram[b].n_samples;
    n_tokens += summary.histogram[b].n_tokens;
    if (b > 0) CHECK(summary.histogram[b].from_tokens == summary.histogram[b - 1].to_tokens);
  }
  CHECK(n_samples == 7);
  CHECK(n_tokens == 93);
  CHECK(summary.histogram.front().from_tokens == -1);
  CHECK(summary.histogram.front().to_tokens == 0);
  CHECK(summary.histogram.back().to_tokens == 64);
}

TEST_CASE("a bin holds the lengths from just above its lower to its upper bound") {
  const std::vector<std::int32_t> lengths = {4, 5, 8};
  const auto bins = summarize_lengths(lengths).histogram;
  REQUIRE(bins.size() == 2);
  CHECK((bins[0].from_tokens == 2 && bins[0].to_tokens == 4 && bins[0].n_samples == 1));
  CHECK((bins[1].from_tokens == 4 && bins[1].to_tokens == 8 && bins[1].n_tokens == 13));
}

TEST_CASE("percentiles are lengths of samples, by nearest rank") {
  std::vector<std::int32_t> lengths;
  for (std::int32_t length = 200; length >= 1; --length) lengths.push_back(length);
  const LengthSummary summary = summarize_lengths(lengths);
  CHECK(summary.median_tokens == 100);
  CHECK(summary.p99_tokens == 198);
  CHECK(summary.longest_tokens == 200);
  CHECK(summary.mean_tokens == Approx(100.5));
}

TEST_CASE("an empty data set and the longest possible sample are summarised") {
  CHECK(summarize_lengths({}).n_samples == 0);
  CHECK(summarize_lengths({}).histogram.empty());
  const std::vector<std::int32_t> longest = {std::numeric_limits<std::int32_t>::max()};
  CHECK(summarize_lengths(longest).histogram.back().to_tokens == std::int64_t{1} << 31);
  CHECK(summarize_lengths(longest).median_tokens == longest[0]);
}
