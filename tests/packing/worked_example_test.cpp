#include <catch2/catch.hpp>

#include "packing/schedule/metrics.hpp"

using namespace packsim;

TEST_CASE("The worked example of docs/metrics.md") {
  // Packs {4 x 1000}, {2 x 2000}, {3000}, {3 x 1000}, trained in this order on two ranks.
  const std::vector<std::int32_t> lengths = {1000, 1000, 1000, 1000, 2000, 2000, 3000, 1000, 1000, 1000};
  Packing packing;
  packing.strategy = find_strategy("random");
  packing.capacities_tokens = {4096};
  packing.lengths_tokens = lengths;
  packing.groups.resize(1);
  packing.groups[0].items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  packing.groups[0].offsets = {0, 4, 6, 7, 10};

  ScheduleOptions options;
  options.n_gpus = 2;
  options.order = PackOrder::as_packed;
  const std::vector<std::int64_t> capacities = {4096};
  const std::vector<GroupParallelism> parallelism(1);
  const std::vector<std::vector<MicroBatch>> batches = {micro_batches(packing, 0, Padding::none)};
  const ScheduleMetrics metrics = measure(make_schedule(batches, capacities, parallelism, options), batches);
  CHECK(metrics.iterations == 2);
  CHECK(metrics.abr == Approx((0.25 + 1.0 / 3) / 2));  // 7/24
  CHECK(metrics.abr_weighted == Approx(10.0 / 34));
  CHECK(metrics.dbr == 0);
  CHECK(metrics.ave_t_tokens == 3500);

  const std::vector<std::vector<MicroBatch>> padded = {micro_batches(packing, 0, Padding::capacity)};
  CHECK(measure(make_schedule(padded, capacities, parallelism, options), padded).pr ==
        Approx((4 * 4096.0 - 14000) / (4 * 4096)));
}
