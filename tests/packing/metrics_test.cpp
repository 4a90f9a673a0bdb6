// The ratios of a schedule, each on numbers that a reader can check on paper.

#include "packing/schedule/metrics.hpp"

#include <catch2/catch.hpp>

#include "tests/packing/hand_packing.hpp"

namespace packsim::testing {
namespace {

using Groups = std::vector<std::vector<MicroBatch>>;

ScheduleMetrics measure_in_order(const Groups& groups, const std::vector<GroupParallelism>& parallelism,
                                 ScheduleOptions options) {
  options.order = PackOrder::as_packed;
  const std::vector<std::int64_t> capacities(groups.size(), 100);
  return measure(make_schedule(groups, capacities, parallelism, options), groups);
}

std::vector<MicroBatch> packs_of_work(const std::vector<std::int64_t>& work) {
  std::vector<MicroBatch> batches;
  for (const std::int64_t pairs : work) batches.push_back({.tokens = 1, .attention_pairs = pairs});
  return batches;
}

std::vector<MicroBatch> packs_of_tokens(const std::vector<std::int64_t>& tokens) {
  std::vector<MicroBatch> batches;
  for (const std::int64_t n : tokens) batches.push_back({.tokens = n, .attention_pairs = n * n});
  return batches;
}

}  // namespace

TEST_CASE("imbalance is the waiting share: (8-4)/(8 x 2) = 0.25") {
  CHECK(imbalance(std::vector<double>{4, 8}) == 0.25);
  CHECK(imbalance(std::vector<double>{5, 5, 5}) == 0.0);
  CHECK(imbalance(std::vector<double>{0, 0, 0, 8}) == 0.75);  // three of four wait all the time
  CHECK(imbalance(std::vector<double>{3}) == 0.0);
}

TEST_CASE("nobody waits where nobody has anything to do") {
  CHECK(imbalance({}) == 0.0);
  CHECK(imbalance(std::vector<double>{0, 0}) == 0.0);
}

TEST_CASE("ABR of packs {1K,1K,1K,1K} and {2K,2K} is 0.25") {
  // Attention work 4 x 1 and 2 x 4 in units of 1K squared; both packs have 4K tokens, so DBR is 0.
  const Packing packing = hand_packing("ffd", {4096}, {{{1024, 1024, 1024, 1024}, {2048, 2048}}});
  const Groups groups = {micro_batches(packing, 0, Padding::none)};
  const ScheduleMetrics metrics = measure_in_order(groups, {{}}, {.n_gpus = 2});
  CHECK(metrics.abr == 0.25);
  CHECK(metrics.dbr == 0.0);
}

TEST_CASE("ABR is the mean of the iterations, weighted ABR one ratio of sums") {
  // Iterations {1,3} and {10,10}: 2 of 6 and 0 of 20 wait. Mean (1/3 + 0)/2 = 1/6; weighted 2/26 = 1/13.
  const ScheduleMetrics metrics = measure_in_order({packs_of_work({1, 3, 10, 10})}, {{}}, {.n_gpus = 2});
  CHECK(metrics.iterations == 2);
  CHECK(metrics.abr == Approx(1.0 / 6.0));
  CHECK(metrics.abr_weighted == Approx(1.0 / 13.0));
  CHECK(metrics.balanced_fraction == 0.5);
}

TEST_CASE("an iteration is balanced if ranks wait for at most a twentieth of its attention time") {
  // {91, 100}: 9 of 200 wait, which is 0.045. {89, 100}: 11 of 200, 0.055. {100, 100}: none.
  const ScheduleMetrics metrics =
      measure_in_order({packs_of_work({91, 100, 89, 100, 100, 100})}, {{}}, {.n_gpus = 2});
  CHECK(metrics.balanced_fraction == Approx(2.0 / 3));
}

TEST_CASE("micro-batches of a rank add up before ranks are compared") {
  // Rank 0: 1 + 4, rank 1: 3 + 2. Even over the step, although neither micro-batch is.
  const ScheduleMetrics metrics =
      measure_in_order({packs_of_work({1, 3, 4, 2})}, {{}}, {.n_gpus = 2, .micro_batches_per_rank = 2});
  CHECK(metrics.abr == 0.0);
}

TEST_CASE("ABR over slots adds up the ranks that a wider group would use together") {
  // Eight GPUs. Group 0, SP 1: ranks with 4,0,0,0 | 1,1,1,1. Over ranks (4 x 8 - 8)/(4 x 8) = 0.75; in slots
  // of the widest degree, 4, the sums are 4 and 4: 0. Group 1, SP 4: two ranks with 6 and 2, which are slots
  // themselves: (12 - 8)/12 = 1/3.
  const Groups groups = {packs_of_work({4, 0, 0, 0, 1, 1, 1, 1}), packs_of_work({6, 2})};
  const ScheduleMetrics metrics =
      measure_in_order(groups, {{.gpus_per_pack = 1}, {.gpus_per_pack = 4}}, {.n_gpus = 8});
  CHECK(metrics.iterations == 2);
  CHECK(metrics.abr == Approx((0.75 + 1.0 / 3.0) / 2));
  CHECK(metrics.abr_slots == Approx((0.0 + 1.0 / 3.0) / 2));
  CHECK(metrics.abr_weighted == Approx((24.0 + 4.0) / (32.0 + 12.0)));
}

TEST_CASE("a rank without a pack in a short iteration waits all of it") {
  // Three packs on two ranks: {4,4}, {4,-}.
  const ScheduleMetrics metrics = measure_in_order({packs_of_tokens({2, 2, 2})}, {{}},
                                                   {.n_gpus = 2, .last_iteration = LastIteration::shorten});
  CHECK(metrics.abr == 0.25);
  CHECK(metrics.dbr == 0.25);
  CHECK(metrics.ave_t_tokens == 6.0 / 4.0);
}

TEST_CASE("DBR is a mean of ratios, PR a ratio of sums") {
  // Rows, two a micro-batch, two ranks, padded to the longest:
  //   iteration 0: {10,10} and {10,5}: 20 and 20 computed tokens, 5 of them padding; DBR 0.
  //   iteration 1: {2,1} and {1,1}: 4 and 2 computed, 1 padding; DBR (8 - 6)/8 = 0.25.
  // DBR (0 + 0.25)/2. PR (5 + 1)/(20 + 20 + 4 + 2).
  const Packing packing = hand_packing("none", {10}, {{{10, 10}, {10, 5}, {2, 1}, {1, 1}}});
  const Groups groups = {micro_batches(packing, 0, Padding::longest)};
  const ScheduleMetrics metrics = measure_in_order(groups, {{}}, {.n_gpus = 2});
  CHECK(metrics.dbr == 0.125);
  CHECK(metrics.pr == Approx(6.0 / 46.0));
  CHECK(metrics.trained_tokens == 40);
  CHECK(metrics.padded_tokens == 6);
  CHECK(metrics.ave_t_tokens == 10.0);  // 40 tokens of data over 2 iterations x 2 ranks
}

TEST_CASE("packs padded to the capacity have PR above 0 and DBR 0, unpadded ones the reverse") {
  const Packing packing = hand_packing("ffd", {10}, {{{8}, {4}}});
  const auto metrics_with = [&](Padding padding) {
    const Groups groups = {micro_batches(packing, 0, padding)};
    return measure_in_order(groups, {{}}, {.n_gpus = 2});
  };
  CHECK(metrics_with(Padding::none).pr == 0.0);
  CHECK(metrics_with(Padding::none).dbr == 0.25);  // (8 - 4)/(8 x 2)
  CHECK(metrics_with(Padding::capacity).pr == Approx(8.0 / 20.0));
  CHECK(metrics_with(Padding::capacity).dbr == 0.0);
}

TEST_CASE("CR is the share of tokens trained with sequence parallelism") {
  // Eight GPUs: one iteration of 8 x 10 tokens without, one of 2 x 60 with SP 4: 120 of 200.
  const Groups groups = {packs_of_tokens(std::vector<std::int64_t>(8, 10)), packs_of_tokens({60, 60})};
  const ScheduleMetrics metrics =
      measure_in_order(groups, {{.gpus_per_pack = 1}, {.gpus_per_pack = 4}}, {.n_gpus = 8});
  CHECK(metrics.cr == Approx(0.6));
  CHECK(metrics.ave_t_tokens == Approx(200.0 / (8 + 2)));
  CHECK(measure_in_order({groups[0]}, {{.gpus_per_pack = 1}}, {.n_gpus = 8}).cr == 0.0);
  CHECK(measure_in_order({groups[1]}, {{.gpus_per_pack = 4}}, {.n_gpus = 8}).cr == 1.0);
}

TEST_CASE("repeated packs count as trained, dropped ones do not, over all epochs") {
  const Groups groups = {packs_of_tokens({1, 2, 4})};
  ScheduleOptions options{.n_gpus = 2, .last_iteration = LastIteration::repeat, .epochs = 3};
  CHECK(measure_in_order(groups, {{}}, options).trained_tokens == 3 * (1 + 2 + 4 + 1));
  options.last_iteration = LastIteration::drop;
  CHECK(measure_in_order(groups, {{}}, options).trained_tokens == 3 * (1 + 2));
}

TEST_CASE("an empty schedule measures as zeros, not as divisions by zero") {
  const ScheduleMetrics metrics = measure_in_order({{}}, {{}}, {.n_gpus = 2});
  CHECK(metrics.iterations == 0);
  CHECK(metrics.trained_tokens == 0);
  for (const double ratio : {metrics.abr, metrics.abr_slots, metrics.abr_weighted, metrics.dbr, metrics.cr,
                             metrics.pr, metrics.ave_t_tokens}) {
    CHECK(ratio == 0.0);
  }
}

TEST_CASE("packs without tokens measure as zeros") {
  const ScheduleMetrics metrics = measure_in_order({packs_of_tokens({0, 0})}, {{}}, {.n_gpus = 2});
  CHECK(metrics.iterations == 1);
  CHECK(metrics.abr + metrics.abr_weighted + metrics.dbr + metrics.cr + metrics.pr == 0.0);
}

TEST_CASE("pack statistics run over all groups and leave own packs out of the fill") {
  // Group 0 of 10: {6,4}, {5}. Group 1 of 20: {15}, and {30}, a pack of its own.
  // Fill: (10 + 5 + 15)/(10 + 10 + 20) = 0.75. Squares: 36 + 16 + 25 + 225 + 900 = 1202.
  const PackStatistics s = pack_statistics(hand_packing("hbp", {10, 20}, {{{6, 4}, {5}}, {{15}, {30}}}));
  CHECK(s.n_packs == 4);
  CHECK(s.samples_per_pack == 5.0 / 4.0);
  CHECK(s.tokens_per_pack == 60.0 / 4.0);
  CHECK(s.fill_fraction == 0.75);
  CHECK(s.squared_length_per_sample == Approx(1202.0 / 5.0));
  CHECK(s.squared_length_per_pack == Approx(1202.0 / 4.0));
}

TEST_CASE("pack statistics of nothing are zeros") {
  const PackStatistics s = pack_statistics(hand_packing("ffd", {10}, {{}}));
  CHECK(s.n_packs == 0);
  CHECK(s.fill_fraction + s.samples_per_pack + s.tokens_per_pack == 0.0);
}

}  // namespace packsim::testing
