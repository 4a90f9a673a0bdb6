#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "packing/mixing/actor.hpp"
#include "packing/mixing/mixture.hpp"

namespace {

using namespace packsim;
using Catch::Matchers::Contains;
using Numbers = std::vector<std::uint32_t>;

// Three subsets of 8, 4 and 2 samples; the first has groups of 6 and 2, the others one each.
Arms three_subsets() {
  return {Numbers{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2},
          Numbers{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}};
}

// Four equal subsets of one sample.
Arms four_subsets() {
  return {Numbers{0, 1, 2, 3}, Numbers{0, 0, 0, 0}};
}

std::vector<RecordedProbabilities> some_recorded(const Arms& arms) {
  std::vector<RecordedProbabilities> rows(2);
  rows[1].step = 10;
  for (RecordedProbabilities& row : rows) {
    row.probabilities.subsets.assign(arms.n_subsets(), 0);
    row.probabilities.subsets.front() = 1;
  }
  std::ranges::reverse(rows[1].probabilities.subsets);
  return rows;
}

MixtureRewards rewards_of(const Arms& arms) {
  MixtureRewards rewards;
  for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset) {
    rewards.subsets.push_back(1.0 + static_cast<double>(subset));
    rewards.groups.emplace_back(arms.n_groups(subset), 0.5);
    rewards.groups.back().front() = 2;
  }
  return rewards;
}

Mixture mixture_of(const Arms& arms, std::string_view policy, Replacement replacement = Replacement::with,
                   std::uint64_t seed = 7) {
  return {arms, policy, {.recorded = some_recorded(arms), .seed = seed}, replacement};
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

TEST_CASE("an actor moves to its rewards as HBO's code does") {
  // Rewards 2, 1, 1, 1: p_1 goes to 2 / 5. A logit moves by at most 200 x 1e-4 = 0.02 in an update, so after
  // one of them p_1 is about e^.02 / (e^.02 + 3 e^-.02) = .2576.
  const std::vector<double> rewards = {2, 1, 1, 1};
  Actor actor(std::vector<double>(4, 0.25));
  const auto after = [&](int n_updates) {
    for (int i = 0; i < n_updates; ++i) actor.learn_all_arms(rewards, 200, 1e-4);
    return actor.probabilities()[0];
  };
  CHECK(after(1) == Approx(0.2575).margin(5e-5));
  CHECK(after(4) == Approx(0.287).margin(5e-4));
  CHECK(after(10) == Approx(0.352).margin(5e-4));
  CHECK(after(400) == Approx(0.4).margin(1e-3));
}

TEST_CASE("an actor goes on from its state to the last bit, with Adam's moments") {
  const std::vector<double> rewards = {3, 1, 0};
  Actor actor(std::vector<double>{0.5, 0.3, 0.2});
  actor.learn_all_arms(rewards, 7, 1e-2);
  Actor resumed(actor.state());
  actor.learn_all_arms(rewards, 7, 1e-2);
  resumed.learn_all_arms(rewards, 7, 1e-2);
  CHECK(resumed.state() == actor.state());
  // An actor that forgets the moments would be elsewhere: Adam's first steps are larger.
  Actor fresh(resumed.probabilities());
  fresh.learn_all_arms(rewards, 7, 1e-2);
  resumed.learn_all_arms(rewards, 7, 1e-2);
  CHECK(std::abs(fresh.probabilities()[0] - resumed.probabilities()[0]) > 1e-6);
}

TEST_CASE("REINFORCE moves logits on average along the gradient of the expected reward") {
  // d/dl_k sum_j p_j R_j = p_k (R_k - sum_j p_j R_j), by the definition of the softmax.
  const std::vector<double> p = {0.5, 0.3, 0.2};
  const std::vector<double> rewards = {1, 2, 4};
  const double expected_reward = 0.5 * 1 + 0.3 * 2 + 0.2 * 4;
  std::vector<double> mean_move(3, 0);
  for (std::size_t arm = 0; arm < 3; ++arm) {
    Actor actor(p);
    const std::vector<double> before = actor.state().logits;
    actor.reinforce(arm, rewards[arm], 1e-3);
    for (std::size_t k = 0; k < 3; ++k) mean_move[k] += p[arm] * (actor.state().logits[k] - before[k]) / 1e-3;
  }
  for (std::size_t k = 0; k < 3; ++k)
    CHECK(mean_move[k] == Approx(p[k] * (rewards[k] - expected_reward)).epsilon(1e-9));
}

TEST_CASE("updates of hbo by drawn arms follow that gradient to Monte Carlo error") {
  // One update draws 40 000 arms at a rate so small that the probabilities stand still meanwhile.
  constexpr int kDraws = 40000;
  constexpr double kRate = 1e-9;
  Mixture mixture(four_subsets(), "hbo",
                  {.update = ActorUpdate::reinforce, .learning_rate = kRate, .actor_steps = kDraws},
                  Replacement::with);
  const std::vector<double> before = mixture.state().policy;
  mixture.update({.subsets = {2, 1, 1, 1}, .groups = {{1}, {1}, {1}, {1}}});
  const std::vector<double> after = mixture.state().policy;
  // p = 1/4, mean reward 5/4: gradients 3/16 for the first and -1/16 for the others. The spread of one draw
  // is below 1, so that of the mean is below 1 / sqrt(40 000) = .005.
  const std::vector<double> expected = {3.0 / 16, -1.0 / 16, -1.0 / 16, -1.0 / 16};
  for (std::size_t k = 0; k < 4; ++k)
    CHECK((after[k] - before[k]) / (kRate * kDraws) == Approx(expected[k]).margin(0.02));
}

TEST_CASE("an actor refuses what is no probability, reward or state") {
  CHECK_THROWS_WITH(Actor(std::vector<double>{0.5, 0.0}), Contains("above 0, got 0.000000 for arm 1"));
  CHECK_THROWS_WITH(Actor(std::vector<double>{}), Contains("at least one arm"));
  Actor actor(std::vector<double>{0.5, 0.5});
  CHECK_THROWS_WITH(actor.learn_all_arms(std::vector<double>{1}, 1, 1e-4), Contains("expected 2"));
  CHECK_THROWS_WITH(actor.learn_all_arms(std::vector<double>{1, -1}, 1, 1e-4),
                    Contains("got -1.000000 for arm 1"));
  CHECK_THROWS_WITH(actor.reinforce(2, 1, 1e-4), Contains("below 2, got 2"));
  CHECK_THROWS_WITH(actor.reinforce(0, std::nan(""), 1e-4), Contains("finite"));
  Actor::State state = actor.state();
  state.first_moments.pop_back();
  CHECK_THROWS_WITH(Actor(state), Contains("state"));
}

TEST_CASE("temperatures are those of the paper's formula") {
  // Sizes 8, 4, 2 at tau = 2: sqrt(8), sqrt(4), sqrt(2) = 2.828, 2, 1.414 over their sum of 6.243.
  const std::vector<double> sizes = {8, 4, 2};
  const auto p = [&](double tau) { return tempered(sizes, tau); };
  CHECK(p(1)[0] == Approx(8.0 / 14));
  CHECK(p(2)[0] == Approx(2.8284271 / 6.2426407));
  CHECK(p(2)[2] == Approx(1.4142136 / 6.2426407));
  CHECK(p(std::numeric_limits<double>::infinity()) == std::vector<double>(3, 1.0 / 3));
  CHECK(sum_of(p(1e-3)) == Approx(1));  // all in the largest
  CHECK(p(1e-3)[0] == Approx(1));
  CHECK_THROWS_WITH(p(0), Contains("above 0"));
  CHECK_THROWS_WITH(tempered(std::vector<double>{1, 0}, 1), Contains("weights"));
}

TEST_CASE("quantile groups are equal parts of the sorted scores and leave no sample out") {
  const std::vector<double> scores = {5, 1, 4, 1, 3, 2, 9};
  // Sorted: 1 (sample 1), 1 (3), 2 (5), 3 (4), 4 (2), 5 (0), 9 (6): seven in three groups are 3, 2 and 2.
  CHECK(quantile_groups(scores, 3) == Numbers{2, 0, 1, 0, 1, 0, 2});
  CHECK(quantile_groups(scores, 1) == Numbers(7, 0));
  CHECK_THROWS_WITH(quantile_groups(scores, 8), Contains("1 to 7"));
  CHECK_THROWS_WITH(quantile_groups(std::vector<double>{1, std::nan("")}, 1), Contains("sample 1"));
}

TEST_CASE("arms know their samples, and refuse numbers that leave one empty") {
  const Arms arms = three_subsets();
  CHECK(arms.n_subsets() == 3);
  CHECK(arms.n_arms() == 4);
  CHECK(arms.n_groups(0) == 2);
  CHECK(arms.subset_size(0) == 8);
  CHECK(arms.subset_of_arm(1) == 0);
  CHECK(arms.subset_of_arm(2) == 1);
  CHECK(std::ranges::equal(arms.samples(1), Numbers{6, 7}));
  CHECK_THROWS_WITH(Arms(Numbers{0, 2, 2}, Numbers{0, 0, 0}), Contains("subset 1"));
  CHECK_THROWS_WITH(Arms(Numbers{0, 0, 0}, Numbers{0, 2, 2}), Contains("group 1 of subset 0"));
  CHECK_THROWS_WITH(Arms(Numbers{0}, Numbers{}), Contains("group_of"));
  CHECK_THROWS_WITH(Arms(Numbers{}, Numbers{}), Contains("at least one sample"));
  CHECK_THROWS_WITH(Arms(Numbers{4000000000U}, Numbers{0}), Contains("below the 1 samples"));
}

TEST_CASE("every policy has probabilities, updates and a state that goes on") {
  const Arms arms = three_subsets();
  for (const MixingPolicy& policy : mixing_policies()) {
    CAPTURE(policy.name);
    CHECK_FALSE(policy.summary.empty());
    Mixture mixture = mixture_of(arms, policy.name);
    for (int update = 0; update < 3; ++update) {
      const MixtureProbabilities p = mixture.probabilities(update);
      CHECK(sum_of(p.subsets) == Approx(1));
      REQUIRE(p.groups.size() == 3);
      for (std::size_t subset = 0; subset < 3; ++subset) {
        CHECK(p.groups[subset].size() == arms.n_groups(subset));
        CHECK(sum_of(p.groups[subset]) == Approx(1));
      }
      mixture.draw(50, update);
      mixture.update(rewards_of(arms));
    }
    Mixture resumed = mixture_of(arms, policy.name);
    resumed.set_state(mixture.state());
    CHECK(resumed.state() == mixture.state());
    CHECK(resumed.probabilities(3) == mixture.probabilities(3));
    resumed.update(rewards_of(arms));
    mixture.update(rewards_of(arms));
    const auto samples = [](const std::vector<MixtureDraw>& draws) {
      Numbers numbers;
      for (const MixtureDraw& draw : draws) numbers.push_back(draw.sample);
      return numbers;
    };
    CHECK(samples(resumed.draw(100, 4)) == samples(mixture.draw(100, 4)));
    CHECK(resumed.probabilities(4) == mixture.probabilities(4));
    // The policies that need nothing do not move by rewards, the others do.
    const bool moves = mixture.probabilities(0) != mixture_of(arms, policy.name).probabilities(0);
    CHECK(moves == (policy.needs != RewardNeed::none));
  }
}

TEST_CASE("draws come as often as their probabilities say") {
  // 14 000 draws of sizes 8, 4, 2 at temperature 1: 8 000, 4 000 and 2 000 expected; standard deviations are
  // below sqrt(14 000 / 4) = 59, and four of them 240. Of the first subset, one of four is in its second
  // group.
  Mixture mixture(three_subsets(), "temperature", {}, Replacement::with);
  std::vector<std::int64_t> times(14, 0);
  for (const MixtureDraw& draw : mixture.draw(14000, 0)) ++times[draw.sample];
  const std::span<const std::int64_t> arms = mixture.draws_of_arm();
  CHECK(static_cast<double>(arms[0] + arms[1]) == Approx(8000).margin(240));
  CHECK(static_cast<double>(arms[1]) == Approx(2000).margin(170));
  CHECK(static_cast<double>(arms[2]) == Approx(4000).margin(240));
  CHECK(static_cast<double>(arms[3]) == Approx(2000).margin(170));
  CHECK(std::accumulate(times.begin(), times.end(), std::int64_t{0}) == 14000);
  // Each sample: 1 000 expected, deviation below 32.
  for (const std::int64_t n : times) CHECK(static_cast<double>(n) == Approx(1000).margin(130));
}

TEST_CASE("recorded probabilities hold from their step to the next") {
  Mixture mixture = mixture_of(three_subsets(), "recorded");
  for (const std::int64_t step : {0, 9}) {
    for (const MixtureDraw& draw : mixture.draw(100, step)) CHECK(draw.sample < 8);
  }
  for (const std::int64_t step : {10, 1000}) {
    for (const MixtureDraw& draw : mixture.draw(100, step)) CHECK(draw.sample >= 12);
  }
}

TEST_CASE("without replacement every sample of an arm comes before one comes again") {
  Mixture mixture = mixture_of(four_subsets(), "uniform", Replacement::without);
  const Arms arms{Numbers(12, 0), Numbers{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}};
  Mixture passes(arms, "uniform", {}, Replacement::without);
  std::vector<Numbers> of_arm(2);
  for (const MixtureDraw& draw : passes.draw(300, 0)) of_arm[draw.arm].push_back(draw.sample);
  for (std::size_t arm = 0; arm < 2; ++arm) {
    const std::size_t n = arms.samples(arm).size();
    std::set<Numbers> orders;
    for (std::size_t first = 0; first + n <= of_arm[arm].size(); first += n) {
      Numbers pass(of_arm[arm].begin() + static_cast<std::ptrdiff_t>(first),
                   of_arm[arm].begin() + static_cast<std::ptrdiff_t>(first + n));
      orders.insert(pass);
      std::ranges::sort(pass);
      CHECK(std::ranges::equal(pass, arms.samples(arm)));
    }
    CHECK(orders.size() > 2);  // not the same order in each pass
  }
}

TEST_CASE("draws do not depend on how they are asked for, but on the seed") {
  const Arms arms = three_subsets();
  const auto samples_of = [&](std::uint64_t seed, std::size_t at_once) {
    Mixture mixture = mixture_of(arms, "uniform", Replacement::without, seed);
    Numbers samples;
    while (samples.size() < 60) {
      for (const MixtureDraw& draw : mixture.draw(at_once, 0)) samples.push_back(draw.sample);
    }
    return samples;
  };
  CHECK(samples_of(1, 60) == samples_of(1, 1));
  CHECK(samples_of(1, 60) == samples_of(1, 7 - 3));
  CHECK(samples_of(1, 60) != samples_of(2, 60));
}

TEST_CASE("a window of draws ends with the draw that fills it") {
  const std::vector<std::int32_t> lengths(14, 10);
  Mixture mixture = mixture_of(three_subsets(), "uniform");
  CHECK(mixture.draw_tokens(95, 1000, 0, lengths).size() == 10);
  CHECK(mixture.draw_tokens(95, 4, 0, lengths).size() == 4);
  CHECK(mixture.n_draws() == 14);
  CHECK_THROWS_WITH(mixture.draw_tokens(1, 1, 0, std::vector<std::int32_t>(3, 1)),
                    Contains("14 samples, got 3"));
}

TEST_CASE("samples of probes are of their arm, differ by update and purpose, and count as no draws") {
  const Arms arms{Numbers(1000, 0), Numbers(1000, 0)};
  Mixture mixture(arms, "hbo", {}, Replacement::with);
  const Numbers first = mixture.probe_samples(0, 8, 0);
  CHECK(first == mixture.probe_samples(0, 8, 0));
  CHECK(first != mixture.probe_samples(0, 8, 1));
  mixture.update({.subsets = {1}, .groups = {{1}}});
  CHECK(first != mixture.probe_samples(0, 8, 0));
  CHECK(mixture.n_draws() == 0);
}

TEST_CASE("odm is Exp3 with the published rates") {
  // Two subsets with losses 4 and 1. First update, p = 1/2 each: estimates .1 x 4 / .5 = .8 and .2. Then
  // t = 1: the rate is min(1/2, sqrt(ln 2 / 2)) = 1/2, so p stays. Second: .9 x .8 + .8 = 1.52 and .38;
  // t = 2: sqrt(ln 2 / 4) = .41628, before it .5: exp(.5 x 1.52) = 2.1383, exp(.5 x .38) = 1.2092;
  // p_1 = (1 - .83255) x .63876 + .41628 = .52324.
  Mixture mixture(Arms{Numbers{0, 1}, Numbers{0, 0}}, "odm", {}, Replacement::with);
  const MixtureRewards losses{.subsets = {4, 1}, .groups = {}};
  CHECK(mixture.probabilities(0).subsets[0] == Approx(0.5));
  mixture.update(losses);
  CHECK(mixture.probabilities(0).subsets[0] == Approx(0.5));
  mixture.update(losses);
  CHECK(mixture.probabilities(0).subsets[0] == Approx(0.52324).margin(1e-5));
}

TEST_CASE("mistakes of options, rewards and states are refused and change nothing") {
  const Arms arms = three_subsets();
  const auto made = [&](std::string_view policy, const MixingOptions& options) {
    return Mixture(arms, policy, options, Replacement::with);
  };
  CHECK_THROWS_WITH(made("best", {}),
                    Contains("static, temperature, uniform, recorded, hbo, odm, got \"best\""));
  CHECK_THROWS_WITH(made("static", {.weights = {1, 2}}), Contains("expected 3, one for each subset, got 2"));
  CHECK_THROWS_WITH(made("temperature", {.temperature = -1}), Contains("temperature"));
  CHECK_THROWS_WITH(made("hbo", {.learning_rate = 0}), Contains("learning_rate"));
  CHECK_THROWS_WITH(made("hbo", {.actor_steps = 0}), Contains("actor_steps"));
  CHECK_THROWS_WITH(made("hbo", {.local_updates = 0}), Contains("local_updates"));
  CHECK_THROWS_WITH(made("odm", {.smoothing = 1}), Contains("smoothing"));
  CHECK_THROWS_WITH(made("recorded", {}), Contains("from step 0 on"));
  std::vector<RecordedProbabilities> rows = some_recorded(arms);
  rows[1].step = 0;
  CHECK_THROWS_WITH(made("recorded", {.recorded = rows}), Contains("ascending steps"));
  rows = some_recorded(arms);
  rows[1].probabilities.subsets = {0.5, 0.2, 0.2};
  CHECK_THROWS_WITH(made("recorded", {.recorded = rows}), Contains("step 10") && Contains("add up to 1"));

  Mixture mixture = made("hbo", {});
  mixture.draw(10, 0);
  const Mixture::State before = mixture.state();
  CHECK_THROWS_WITH(mixture.update({.subsets = {1, 1}, .groups = {}}), Contains("3 subsets"));
  CHECK_THROWS_WITH(mixture.update({.subsets = {1, 1, 1}, .groups = {{1, 1}, {1}, {-1}}}),
                    Contains("at least 0"));
  CHECK(mixture.state() == before);
  Mixture::State other = before;
  other.draws_of_arm.pop_back();
  CHECK_THROWS_WITH(mixture.set_state(other), Contains("4 arms"));
  other = before;
  other.n_draws = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_WITH(mixture.set_state(other), Contains("add up"));
  other = before;
  other.policy.pop_back();
  CHECK_THROWS_WITH(mixture.set_state(other), Contains("fewer"));
  CHECK(mixture.state() == before);
}

TEST_CASE("how often each sample was drawn is known without a list of draws") {
  for (const Replacement replacement : {Replacement::with, Replacement::without}) {
    Mixture mixture = mixture_of(three_subsets(), "uniform", replacement);
    std::vector<std::int64_t> expected(14, 0);
    CHECK(mixture.draws_of_sample() == expected);
    for (const MixtureDraw& draw : mixture.draw(45, 0)) ++expected[draw.sample];
    CHECK(mixture.draws_of_sample() == expected);
    Mixture resumed = mixture_of(three_subsets(), "uniform", replacement);
    resumed.set_state(mixture.state());
    CHECK(resumed.draws_of_sample() == expected);
  }
}
