#include "scenarios/loader/lengths/draw_lengths.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "messages.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "temp_folder.hpp"

namespace packsim {
namespace {

using Lengths = std::vector<std::int32_t>;
using Messages = std::vector<std::string>;

// A file with the lengths first, first + 1, ..., each of them once, so that every sample can be told from the
// others.
std::string write_range(const TempFolder& folder, const std::string& name, int first, int n) {
  std::string text = "tokens\n";
  for (int i = 0; i < n; ++i) text += std::to_string(first + i) + "\n";
  return folder.write(name, text);
}

LengthSource source(const std::string& path) {
  return {.path = path, .source = "as spelled", .count = {}, .weight = {}};
}

LengthSource counted(const std::string& path, std::int64_t count) {
  LengthSource result = source(path);
  result.count = count;
  return result;
}

LengthSource weighted(const std::string& path, double weight) {
  LengthSource result = source(path);
  result.weight = weight;
  return result;
}

std::vector<std::int64_t> sizes(const DrawnLengths& drawn) {
  std::vector<std::int64_t> n_samples;
  for (const DrawnSource& drawn_source : drawn.sources) n_samples.push_back(drawn_source.n_samples);
  return n_samples;
}

}  // namespace

TEST_CASE("without counts the mix is all sources, one after another") {
  const TempFolder folder;
  const LengthSpec spec{
      .mix = {source(write_range(folder, "a.csv", 1, 3)), source(write_range(folder, "b.csv", 11, 2))},
      .count = {},
      .with_replacement = false,
      .shuffle = false};
  const DrawnLengths drawn = draw_lengths(spec, 1024);
  CHECK(drawn.lengths_tokens == Lengths{1, 2, 3, 11, 12});
  REQUIRE(drawn.sources.size() == 2);
  CHECK(drawn.sources[1].name == "as spelled");
  CHECK(drawn.sources[1].hash == hash_of("tokens\n11\n12\n"));
  CHECK(drawn.sources[1].n_samples == 2);
  CHECK(drawn.sources[1].n_tokens == 23);
  CHECK(drawn.sources[1].repeated_samples == 0);
}

TEST_CASE("a draw without replacement takes different samples and keeps the order of the file") {
  const TempFolder folder;
  const LengthSpec spec{.mix = {counted(write_range(folder, "a.csv", 0, 1000), 100)},
                        .count = {},
                        .with_replacement = false,
                        .shuffle = false};
  const Lengths drawn = draw_lengths(spec, 7).lengths_tokens;
  REQUIRE(drawn.size() == 100);
  CHECK(std::ranges::is_sorted(drawn));
  CHECK(std::ranges::adjacent_find(drawn) == drawn.end());
  CHECK(draw_lengths(spec, 7).lengths_tokens == drawn);
  CHECK(draw_lengths(spec, 8).lengths_tokens != drawn);
}

TEST_CASE("every sample is drawn as often as any other") {
  const TempFolder folder;
  const LengthSpec spec{.mix = {counted(write_range(folder, "a.csv", 0, 10), 3)},
                        .count = {},
                        .with_replacement = false,
                        .shuffle = false};
  std::vector<int> times(10);
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    for (const std::int32_t length : draw_lengths(spec, seed).lengths_tokens) ++times[length];
  }
  // 2000 draws with chance 3/10: 600 times each, with a standard deviation of 20.5.
  for (const int n : times) CHECK(std::abs(n - 600) < 5 * 21);
}

TEST_CASE("sources of one mix are drawn with different seeds") {
  const TempFolder folder;
  const std::string path = write_range(folder, "a.csv", 0, 1000);
  const LengthSpec spec{.mix = {counted(path, 100), counted(path, 100)},
                        .count = {},
                        .with_replacement = false,
                        .shuffle = false};
  const Lengths drawn = draw_lengths(spec, 7).lengths_tokens;
  CHECK(Lengths(drawn.begin(), drawn.begin() + 100) != Lengths(drawn.begin() + 100, drawn.end()));
}

TEST_CASE("with replacement a source is copied whole while it fits, and repeats are counted") {
  const TempFolder folder;
  const LengthSpec spec{.mix = {counted(write_range(folder, "a.csv", 1, 3), 8)},
                        .count = {},
                        .with_replacement = true,
                        .shuffle = false};
  const DrawnLengths drawn = draw_lengths(spec, 7);
  REQUIRE(drawn.lengths_tokens.size() == 8);
  CHECK(Lengths(drawn.lengths_tokens.begin(), drawn.lengths_tokens.begin() + 6) == Lengths{1, 2, 3, 1, 2, 3});
  CHECK(drawn.lengths_tokens[6] != drawn.lengths_tokens[7]);  // the last two without replacement
  CHECK(drawn.sources[0].repeated_samples == 5);
}

TEST_CASE("with replacement allowed, a draw that the source can give repeats nothing") {
  const TempFolder folder;
  const LengthSpec spec{.mix = {counted(write_range(folder, "a.csv", 1, 3), 3)},
                        .count = {},
                        .with_replacement = true,
                        .shuffle = false};
  CHECK(draw_lengths(spec, 7).lengths_tokens == Lengths{1, 2, 3});
  CHECK(draw_lengths(spec, 7).sources[0].repeated_samples == 0);
}

TEST_CASE("weights share out the count by largest remainder, the first of equals first") {
  const TempFolder folder;
  const std::string path = write_range(folder, "a.csv", 1, 20);
  const auto shared = [&](std::vector<double> weights, std::int64_t count) {
    LengthSpec spec{.mix = {}, .count = count, .with_replacement = false, .shuffle = true};
    for (const double weight : weights) spec.mix.push_back(weighted(path, weight));
    return sizes(draw_lengths(spec, 1));
  };
  CHECK(shared({0.5, 0.3, 0.2}, 10) == std::vector<std::int64_t>{5, 3, 2});
  CHECK(shared({1, 1, 1}, 10) == std::vector<std::int64_t>{4, 3, 3});
  // 7 of 6 : 3 : 1 are 4.2, 2.1 and 0.7: the last one lost most.
  CHECK(shared({6, 3, 1}, 7) == std::vector<std::int64_t>{4, 2, 1});
  CHECK(shared({1e308, 1e308}, 3) == std::vector<std::int64_t>{2, 1});
  CHECK(shared({1, 1e-9}, 5) == std::vector<std::int64_t>{5, 0});
}

TEST_CASE("a shuffled mix has the samples of the plain one in another order, decided by the seed") {
  const TempFolder folder;
  LengthSpec spec{
      .mix = {source(write_range(folder, "a.csv", 0, 100)), source(write_range(folder, "b.csv", 100, 100))},
      .count = {},
      .with_replacement = false,
      .shuffle = true};
  const Lengths shuffled = draw_lengths(spec, 7).lengths_tokens;
  Lengths sorted = shuffled;
  std::ranges::sort(sorted);
  Lengths all(200);
  std::iota(all.begin(), all.end(), 0);
  CHECK(sorted == all);
  CHECK(shuffled != all);
  CHECK(draw_lengths(spec, 7).lengths_tokens == shuffled);
  CHECK(draw_lengths(spec, 8).lengths_tokens != shuffled);
}

TEST_CASE("all sources that are too small, or bad, are named at once") {
  const TempFolder folder;
  const std::string small = write_range(folder, "a.csv", 0, 3);
  const std::string smaller = write_range(folder, "b.csv", 0, 2);
  const LengthSpec spec{.mix = {counted(small, 4), counted(smaller, 4)},
                        .count = {},
                        .with_replacement = false,
                        .shuffle = true};
  const std::string expected =
      ": whole file: expected at least the 4 lengths that the scenario draws (or \"with_replacement\": "
      "true), got ";
  CHECK(messages_of([&] { draw_lengths(spec, 1); }) ==
        Messages{small + expected + "3", smaller + expected + "2"});
}

TEST_CASE("a source that went missing is the machine's error") {
  const LengthSpec spec{
      .mix = {source("/no/such/file.csv")}, .count = {}, .with_replacement = false, .shuffle = true};
  CHECK_THROWS_WITH(draw_lengths(spec, 1), "/no/such/file.csv: No such file or directory");
}

TEST_CASE("A file that many sources name is read once") {
  // 10 000 times 20 000 lengths: read each time, the 120 kB would be 1.2 GB.
  const TempFolder folder;
  const std::string path = write_range(folder, "a.csv", 1, 20'000);
  LengthSpec spec;
  spec.mix.assign(10'000, source(path));
  CHECK(messages_of([&] { draw_lengths(spec, 1); }) ==
        Messages{"lengths: expected at most 100000000 samples in all sources, got 200000000"});
  spec.mix.resize(2);
  spec.shuffle = false;
  const DrawnLengths drawn = draw_lengths(spec, 1);
  REQUIRE(drawn.lengths_tokens.size() == 40'000);
  CHECK(drawn.lengths_tokens[0] == 1);
  CHECK(drawn.lengths_tokens[20'000] == 1);
  CHECK(drawn.sources[1].hash == drawn.sources[0].hash);
}

}  // namespace packsim
