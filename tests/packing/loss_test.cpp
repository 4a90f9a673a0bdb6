// What normalisers weigh a token with, on numbers that a reader can check on paper, and how far from the mean
// over all tokens that is.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "packing/loss/loss_bias.hpp"
#include "packing/loss/loss_weights.hpp"
#include "tests/packing/hand_packing.hpp"
#include "tests/paths.hpp"

namespace packsim::testing {
namespace {

using nlohmann::json;

// One iteration of a pack a rank, of samples with so many loss tokens each.
struct OneIteration {
  Packing packing;
  Schedule schedule;
  std::vector<std::int32_t> loss_tokens;

  explicit OneIteration(const PackLengths& packs, int gpus_per_pack = 1)
      : packing(hand_packing("isf", {1000}, {packs})) {
    schedule.n_gpus = static_cast<int>(packs.size()) * gpus_per_pack;
    schedule.groups = {{.gpus_per_pack = gpus_per_pack}};
    for (std::uint32_t p = 0; p < packs.size(); ++p)
      schedule.placed.push_back({.pack = p, .first_gpu = p * static_cast<std::uint32_t>(gpus_per_pack)});
    schedule.iterations = {{.first_placed = 0, .n_placed = static_cast<std::uint32_t>(packs.size())}};
    loss_tokens.assign(packing.lengths_tokens.begin(), packing.lengths_tokens.end());
  }

  LossTokens tokens() const { return LossTokens(packing, loss_tokens); }
  std::vector<double> weights(std::string_view normaliser) const {
    return loss_weights(schedule, count_losses(packing, tokens()), known_normaliser(normaliser));
  }
  LossBias bias(std::string_view normaliser) const {
    return loss_bias(packing, schedule, tokens(), count_losses(packing, tokens()),
                     known_normaliser(normaliser));
  }
  // The weight of each token of an item.
  std::vector<double> token_weights(std::string_view normaliser) const {
    std::vector<double> of_item;
    const std::vector<double> of_pack = weights(normaliser);
    for (std::size_t p = 0; p < of_pack.size(); ++p) {
      for (const ItemIndex item : packing.groups[0][p]) {
        const bool per_sample = known_normaliser(normaliser).per_sample;
        of_item.push_back(of_pack[p] / (per_sample ? loss_tokens[item] : 1));
      }
    }
    return of_item;
  }
  double loss(std::string_view normaliser, const std::vector<double>& loss_sums) const {
    const std::vector<double> of_item = token_weights(normaliser);
    double sum = 0;
    for (std::size_t i = 0; i < loss_sums.size(); ++i) sum += of_item[i] * loss_sums[i];
    return sum;
  }
};

json published_case(const std::string& id) {
  std::ifstream file(packsim_test::source_dir() + "/tests/packing/published_loss_cases.json");
  const json published = json::parse(file);
  for (const json& row : published["cases"]) {
    if (row["id"] == id) return row;
  }
  FAIL("no case " + id);
  return {};
}

}  // namespace

TEST_CASE("Every normaliser has a name of its own, and says what it does and where it comes from") {
  std::set<std::string_view> names;
  for (const Normaliser& normaliser : normalisers()) {
    CAPTURE(normaliser.name);
    CHECK(names.insert(normaliser.name).second);
    CHECK(find_normaliser(normaliser.name) == &normaliser);
    CHECK(normaliser.summary.starts_with("the "));
    CHECK(!normaliser.source.empty());
  }
}

TEST_CASE("HBP's four normalisers on its example of two ranks with two samples each") {
  const json example = published_case("loss.hbp.four_normalizers");
  const auto tokens = example["input"]["loss_tokens"].get<std::vector<std::int32_t>>();
  const auto sums = example["input"]["loss_sums"].get<std::vector<double>>();
  const OneIteration one(PackLengths{{tokens[0], tokens[1]}, {tokens[2], tokens[3]}});
  // token_mean: (65/40 + 70/60) / 2; sample_mean: ((2 + 1.5) / 2 + (2 + 60/55) / 2) / 2; stable: 135 / 100.
  CHECK(one.loss("sum", sums) == Approx(example["expected"]["sum"].get<double>()));
  CHECK(one.loss("token_mean", sums) == Approx(example["expected"]["token_mean"].get<double>()));
  CHECK(one.loss("sample_mean", sums) == Approx(example["expected"]["sample_mean"].get<double>()));
  CHECK(one.loss("stable", sums) == Approx(example["expected"]["stable"].get<double>()));
}

TEST_CASE("LongAlign's weights are K / (N M) in the mean over its K packs") {
  const json example = published_case("loss.longalign.weights");
  PackLengths packs;
  for (const json& pack : example["input"]["packs_target_tokens"]) packs.push_back(pack);
  const OneIteration one(packs);
  const std::vector<double> ours = one.token_weights("longalign");
  const auto k = example["expected"]["K"].get<double>();
  std::size_t item = 0;
  for (const json& pack : example["expected"]["weights"]) {
    for (const json& weight : pack) CHECK(ours[item++] == Approx(weight.get<double>() / k));
  }
  CHECK(item == ours.size());
}

TEST_CASE("Micro-batches of 1 and 3 items: their mean weighs items 1/2 and 1/6, the stable one 1/4 each") {
  const json example = published_case("loss.swift10144");
  // Each item is one token; two micro-batches of one GPU.
  OneIteration one(PackLengths{{1}, {1, 1, 1}});
  one.schedule.n_gpus = 1;
  one.schedule.placed = {{.pack = 0}, {.pack = 1, .round = 1}};
  const auto wrong = example["expected"]["item_weights"].get<std::vector<double>>();
  const auto wanted = example["expected"]["wanted"].get<std::vector<double>>();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(one.token_weights("token_mean")[i] == Approx(wrong[i]));
    CHECK(one.token_weights("stable")[i] == Approx(wanted[i]));
  }
}

TEST_CASE("A loss of 1 a token is 1 whatever the GPUs that share a pack") {
  const json example = published_case("loss.veomni338");
  const int sp = example["input"]["sp"];
  const int tokens = sp * example["input"]["tokens_per_gpu"].get<int>();
  const OneIteration one(PackLengths{{tokens}}, sp);
  for (const char* mean : {"stable", "token_mean", "sample_mean", "longalign"}) {
    CAPTURE(mean);
    CHECK(one.loss(mean, {1.0 * tokens}) ==
          Approx(example["expected"]["right_when_scaled_by_all_ranks"].get<double>()));
  }
}

TEST_CASE("In an iteration of several SP degrees a pack counts by the GPUs that it keeps busy") {
  // GPUs 0 and 1 share pack 0 (4 tokens) of group 1; GPU 2 trains packs of 2 and 6, GPU 3 one of 8.
  Packing packing = hand_packing("isf", {10, 10}, {{{2}, {6}, {8}}, {{4}}});
  Schedule schedule;
  schedule.n_gpus = 4;
  schedule.groups = {{.gpus_per_pack = 1}, {.gpus_per_pack = 2}};
  schedule.placed = {{.pack = 0, .first_gpu = 0, .group = 1},
                     {.pack = 0, .first_gpu = 2},
                     {.pack = 2, .first_gpu = 3},
                     {.pack = 1, .first_gpu = 2, .round = 1}};
  schedule.iterations = {{.first_placed = 0, .n_placed = 4}};
  const std::vector<std::int32_t> tokens(packing.lengths_tokens.begin(), packing.lengths_tokens.end());
  const auto losses = count_losses(packing, LossTokens(packing, tokens));
  const auto weights = loss_weights(schedule, losses, known_normaliser("token_mean"));
  // Mean over 4 GPUs of the mean over their packs: 2/4 of pack 4, 1/8 each of packs 2 and 6, 1/4 of pack 8.
  CHECK(weights == std::vector<double>{0.5 / 4, 0.125 / 2, 0.25 / 8, 0.125 / 6});
}

TEST_CASE("Without loss tokens said, every token has loss but the first of a sample") {
  const Packing packing = hand_packing("isf", {10}, {{{1, 4}, {3}}});
  const LossTokens tokens(packing);
  CHECK(tokens[0] == 0);
  CHECK(tokens[1] == 3);
  const auto losses = count_losses(packing, tokens);
  CHECK(losses[0][0].loss_tokens == 3);
  CHECK(losses[0][0].n_samples == 1);  // the sample of one token has none
  CHECK(losses[0][1].loss_tokens == 2);
}

TEST_CASE("Packs and iterations without loss weigh nothing, and are in no bias") {
  OneIteration one(PackLengths{{4}, {6}});
  one.loss_tokens = {0, 3};
  CHECK(one.weights("token_mean") == std::vector<double>{0, 0.5 / 3});
  one.loss_tokens = {0, 0};
  for (const Normaliser& normaliser : normalisers()) {
    CHECK(one.weights(normaliser.name) == std::vector<double>{0, 0});
    CHECK(one.bias(normaliser.name).misplaced_fraction == 0);
    CHECK(one.bias(normaliser.name).least_sum == 1);
  }
}

TEST_CASE("Numbers of loss tokens that cannot be are refused with their place") {
  const Packing packing = hand_packing("isf", {10}, {{{4, 5}}});
  CHECK_THROWS_WITH(LossTokens(packing, std::vector<std::int32_t>{1}),
                    "loss_tokens: expected one number for each of 2 samples, got 1");
  CHECK_THROWS_WITH(LossTokens(packing, std::vector<std::int32_t>{4, 6}),
                    "loss_tokens[1]: expected 0..5, the length of the sample, got 6");
  CHECK_THROWS_WITH(LossTokens(packing, std::vector<std::int32_t>{-1, 5}),
                    "loss_tokens[0]: expected 0..4, the length of the sample, got -1");
  CHECK_THROWS_WITH(
      known_normaliser("mean"),
      "normaliser: expected one of stable, token_mean, sample_mean, longalign, sum, got \"mean\"");
}

TEST_CASE("The bias of packs of 10 and 30 tokens under token-mean: a quarter of the weight is misplaced") {
  // Each pack has half the weight; of 40 tokens the shares are 1/4 and 3/4. Misplaced: (1/4 + 1/4) / 2.
  // The 30 tokens are the long half: they weigh (1/2) / (3/4).
  const OneIteration one(PackLengths{{10}, {30}});
  const LossBias bias = one.bias("token_mean");
  CHECK(bias.misplaced_fraction == Approx(0.25));
  CHECK(bias.long_sample_weight == Approx(2.0 / 3));
  CHECK(bias.least_sum == Approx(1));
  CHECK(bias.most_sum == Approx(1));
  CHECK(one.bias("stable").misplaced_fraction == Approx(0).margin(1e-15));
  CHECK(one.bias("sum").misplaced_fraction == Approx(0).margin(1e-15));
  CHECK(one.bias("sum").most_sum == 40);  // not a mean: forty times as large
}

TEST_CASE("Idle GPUs take part of the weight with them") {
  // Two GPUs, one of which has no pack: the mean over GPUs is half the mean over packs.
  OneIteration one(PackLengths{{10}});
  one.schedule.n_gpus = 2;
  CHECK(one.bias("token_mean").most_sum == Approx(0.5));
  CHECK(one.bias("stable").most_sum == Approx(1));
}

TEST_CASE("On random schedules stable, longalign and full means add up to 1, and stable misplaces nothing") {
  std::mt19937 draw(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int32_t> lengths(20 + draw() % 200);
    for (std::int32_t& length : lengths) length = static_cast<std::int32_t>(2 + draw() % 99);
    const Packing packing = pack("bfd", {.lengths_tokens = lengths, .capacities_tokens = {100}});
    const std::vector<std::vector<MicroBatch>> batches = {micro_batches(packing, 0, Padding::none)};
    const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = 1 + static_cast<int>(draw() % 2)}};
    const Schedule schedule =
        make_schedule(batches, packing.capacities_tokens, parallelism,
                      {.n_gpus = 4, .micro_batches_per_rank = 1 + static_cast<int>(draw() % 3), .epochs = 2});
    const LossTokens tokens(packing);
    const auto losses = count_losses(packing, tokens);
    for (const char* mean : {"stable", "token_mean", "sample_mean", "longalign"}) {
      CAPTURE(trial, mean);
      const LossBias bias = loss_bias(packing, schedule, tokens, losses, known_normaliser(mean));
      CHECK(bias.least_sum == Approx(1));
      CHECK(bias.most_sum == Approx(1));
      CHECK(bias.misplaced_fraction >= 0);
      CHECK(bias.misplaced_fraction < 1);
    }
    const LossBias stable = loss_bias(packing, schedule, tokens, losses, normalisers().front());
    CHECK(stable.misplaced_fraction == Approx(0).margin(1e-12));
    CHECK(stable.long_sample_weight == Approx(1));
  }
}

namespace {

// The same sums token weight by token weight, each looked up where it is needed.
LossBias bias_item_by_item(const Packing& packing, const Schedule& schedule, const LossTokens& loss_tokens,
                           std::span<const std::vector<LossCounts>> losses, const Normaliser& normaliser,
                           std::int64_t long_from_tokens) {
  const std::vector<double> weights = loss_weights(schedule, losses, normaliser);
  LossBias bias{.misplaced_fraction = 0, .long_sample_weight = 0, .least_sum = 1e300, .most_sum = 0};
  double long_share_of_weight = 0;
  double long_share_of_tokens = 0;
  double n_iterations = 0;
  for (const Iteration& iteration : schedule.iterations) {
    std::vector<std::array<double, 3>> samples;  // loss tokens, the weight of each, whether long
    for (std::size_t i = iteration.first_placed; i < iteration.first_placed + iteration.n_placed; ++i) {
      const PlacedPack& placed = schedule.placed[i];
      for (const ItemIndex item : packing.groups[placed.group][placed.pack]) {
        const auto n = static_cast<double>(loss_tokens[item]);
        if (n == 0) continue;
        samples.push_back({n, normaliser.per_sample ? weights[i] / n : weights[i],
                           packing.lengths_tokens[item] >= long_from_tokens ? 1.0 : 0.0});
      }
    }
    double tokens = 0;
    double sum = 0;
    double of_long = 0;
    double tokens_of_long = 0;
    for (const auto& [n, weight, is_long] : samples) {
      tokens += n;
      sum += n * weight;
      of_long += is_long * (n * weight);
      tokens_of_long += is_long * n;
    }
    if (tokens == 0) continue;
    double differences = 0;
    for (const auto& [n, weight, is_long] : samples) differences += n * std::abs(weight / sum - 1 / tokens);
    bias.misplaced_fraction += differences / 2;
    bias.least_sum = std::min(bias.least_sum, sum);
    bias.most_sum = std::max(bias.most_sum, sum);
    long_share_of_weight += of_long / sum;
    long_share_of_tokens += tokens_of_long / tokens;
    ++n_iterations;
  }
  bias.misplaced_fraction /= n_iterations;
  bias.long_sample_weight = long_share_of_weight / long_share_of_tokens;
  return bias;
}

// Samples of at least so many tokens hold half of all loss tokens.
std::int64_t long_from(const Packing& packing, const LossTokens& loss_tokens) {
  std::vector<std::pair<std::int64_t, std::int64_t>> samples;
  std::int64_t all = 0;
  for (const ItemIndex item : packing.groups[0].items) {
    samples.emplace_back(packing.lengths_tokens[item], loss_tokens[item]);
    all += loss_tokens[item];
  }
  std::ranges::sort(samples, std::greater<>());
  std::int64_t above = 0;
  for (const auto& [length, n] : samples) {
    above += n;
    if (2 * above >= all) return length;
  }
  return 0;
}

}  // namespace

TEST_CASE("The biases of all normalisers at once are the sums item by item") {
  // The order of the additions moves the last digits alone.
  const auto is_equal = [](double a, double b) { return std::abs(a - b) <= 1e-13 * std::abs(b) + 1e-15; };
  std::mt19937 draw(11);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int32_t> lengths(30 + draw() % 200);
    for (std::int32_t& length : lengths) length = static_cast<std::int32_t>(1 + draw() % 99);
    const Packing packing = pack("bfd", {.lengths_tokens = lengths, .capacities_tokens = {100}});
    const std::vector<std::vector<MicroBatch>> batches = {micro_batches(packing, 0, Padding::none)};
    const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = 1 + static_cast<int>(draw() % 2)}};
    const Schedule schedule =
        make_schedule(batches, packing.capacities_tokens, parallelism,
                      {.n_gpus = 4,
                       .micro_batches_per_rank = 1 + static_cast<int>(draw() % 3),
                       .last_iteration = draw() % 2 == 0 ? LastIteration::shorten : LastIteration::repeat,
                       .epochs = 2});
    std::vector<std::int32_t> given;  // of some, none of their tokens
    for (const std::int32_t length : lengths)
      given.push_back(static_cast<std::int32_t>(draw() % static_cast<std::uint32_t>(length + 1)));
    const LossTokens tokens = trial % 2 == 0 ? LossTokens(packing) : LossTokens(packing, given);
    const auto losses = count_losses(packing, tokens);
    const std::vector<LossBias> biases = loss_bias(packing, schedule, tokens, losses, normalisers());
    REQUIRE(biases.size() == normalisers().size());
    for (std::size_t n = 0; n < biases.size(); ++n) {
      CAPTURE(trial, normalisers()[n].name);
      const LossBias expected =
          bias_item_by_item(packing, schedule, tokens, losses, normalisers()[n], long_from(packing, tokens));
      REQUIRE(is_equal(biases[n].misplaced_fraction, expected.misplaced_fraction));
      REQUIRE(is_equal(biases[n].long_sample_weight, expected.long_sample_weight));
      REQUIRE(is_equal(biases[n].least_sum, expected.least_sum));
      REQUIRE(is_equal(biases[n].most_sum, expected.most_sum));
    }
  }
}

}  // namespace packsim::testing
