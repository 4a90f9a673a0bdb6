// Whatever the core packs, the C interface packs the same, for every strategy that it can run.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "packing/pack.hpp"
#include "tests/c_api/packings.hpp"
#include "tests/option_value.hpp"
#include "tests/packing/naive_packers.hpp"

namespace packsim::testing {
using packsim_test::option;

namespace {

// The groups that a job has, and where its packs run.
struct Case {
  std::vector<std::int64_t> capacities_tokens;
  std::vector<std::int32_t> sp_degrees;
  int n_gpus;
  std::int64_t tokens_per_iteration;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> result = {
      {{4096}, {1}, 8, 32768},
      {{8192}, {4}, 16, 40000},
      {{512, 2048, 4096}, {1, 2, 4}, 8, 32768},
  };
  return result;
}

bool takes(const packsim_strategy_info& info, const Case& job) {
  if (info.kind == PACKSIM_NEEDS_PRICES) return false;
  const Strategy& strategy = *find_strategy(info.name);
  return job.capacities_tokens.size() == 1 || strategy.pack_groups != nullptr || strategy.mixes_groups;
}

packsim_pack_request c_request(const char* strategy, const Case& job) {
  packsim_pack_request request = default_request();
  request.strategy = strategy;
  request.capacities_tokens = job.capacities_tokens.data();
  request.n_capacities = std::ssize(job.capacities_tokens);
  request.n_gpus = job.n_gpus;
  request.tokens_per_iteration = job.tokens_per_iteration;
  request.sp_degrees = job.sp_degrees.data();
  request.n_sp_degrees = std::ssize(job.sp_degrees);
  return request;
}

BatchSetting setting_of(const Case& job) {
  BatchSetting setting;
  setting.n_gpus = job.n_gpus;
  setting.tokens_per_iteration = job.tokens_per_iteration;
  for (std::size_t g = 0; g < job.capacities_tokens.size(); ++g)
    setting.groups.push_back({job.capacities_tokens[g], job.sp_degrees[g], {}});
  return setting;
}

void check_groups(const packsim_packing* packing, const Packing& core) {
  REQUIRE(packsim_packing_n_groups(packing) == std::ssize(core.groups));
  for (std::size_t g = 0; g < core.groups.size(); ++g) {
    const packsim_group& group = *packsim_packing_group(packing, static_cast<std::int64_t>(g));
    CHECK(group.capacity_tokens == core.capacities_tokens[g]);
    CHECK(std::vector(group.items, group.items + group.n_items) == core.groups[g].items);
    CHECK(std::vector(group.offsets, group.offsets + group.n_packs + 1) == core.groups[g].offsets);
  }
}

void check_pieces(const packsim_packing* packing, const Packing& core) {
  REQUIRE(packsim_packing_n_items(packing) == std::ssize(core.lengths_tokens));
  bool same = true;
  for (ItemIndex item = 0; item < core.lengths_tokens.size(); ++item) {
    packsim_piece piece;
    REQUIRE(packsim_packing_piece(packing, item, &piece) == PACKSIM_OK);
    same &= Piece{piece.sample_index, piece.start_token, piece.n_tokens} == core.piece(item);
  }
  CHECK(same);
}

void check_counts(const packsim_packing* packing, const PackCounts& core) {
  const packsim_pack_counts& counts = *packsim_packing_counts(packing);
  CHECK(PackCounts{counts.n_samples, counts.n_tokens, counts.dropped_samples, counts.dropped_tokens,
                   counts.empty_samples, counts.truncated_samples, counts.truncated_tokens,
                   counts.split_samples, counts.own_pack_samples} == core);
}

void check_iterations(const packsim_packing* packing, const PlannedIterations& core, const Case& job) {
  REQUIRE(packsim_packing_n_iterations(packing) == std::ssize(core.iterations));
  bool same = true;
  for (std::size_t i = 0; i < core.iterations.size(); ++i) {
    const packsim_iteration& iteration = *packsim_packing_iteration(packing, static_cast<std::int64_t>(i));
    REQUIRE(iteration.n_placed == core.iterations[i].n_placed);
    for (std::size_t p = 0; p < core.iterations[i].n_placed; ++p) {
      const packsim_placed_pack& placed = iteration.placed[p];
      same &= PlacedPack{placed.pack, placed.first_gpu, static_cast<std::uint16_t>(placed.group),
                         static_cast<std::uint16_t>(placed.round),
                         placed.after_barrier == 1} == core.placed[core.iterations[i].first_placed + p];
      same &= static_cast<int>(placed.n_gpus) == job.sp_degrees[placed.group];
    }
  }
  CHECK(same);
}

void check_same(const packsim_pack_request& request, const PackRequest& core_request, const Case& job) {
  packsim_packing* packing = nullptr;
  const auto lengths = core_request.lengths_tokens;
  const packsim_status status = packsim_pack(lengths.data(), std::ssize(lengths), &request, &packing);
  INFO(packsim_last_error());
  REQUIRE(status == PACKSIM_OK);
  const OwnedPacking owned(packing);
  const Packing core = pack(request.strategy, core_request);
  check_groups(packing, core);
  check_pieces(packing, core);
  check_counts(packing, core.counts);
  check_iterations(packing, core.planned, job);
}

}  // namespace

TEST_CASE("the C interface packs like the core, for every strategy, policy and group") {
  int n_checked = 0;
  for (std::int64_t index = 0; index < packsim_n_strategies(); ++index) {
    const packsim_strategy_info& info = *packsim_strategy(index);
    const Strategy& strategy = *find_strategy(info.name);
    for (const Case& job : cases()) {
      if (!takes(info, job)) continue;
      Lengths lengths = heavy_tailed_lengths(3000, static_cast<std::uint32_t>(index), 20000);
      for (std::size_t i = 0; i < lengths.size(); i += 97) lengths[i] = 0;
      const BatchSetting setting = setting_of(job);
      for (const auto& policy : kOverLongNames) {
        if (policy.value == OverLong::error) continue;
        if (policy.value == OverLong::own_pack && strategy.cuts_samples) continue;
        packsim_pack_request request = c_request(info.name, job);
        request.over_long = policy.name.data();
        request.seed = 7;
        PackRequest core{.lengths_tokens = lengths,
                         .capacities_tokens = job.capacities_tokens,
                         .over_long = policy.value,
                         .window_samples = strategy.default_window_samples,
                         .setting = &setting};
        core.options.set("seed", 7);
        CAPTURE(info.name, policy.name, job.capacities_tokens);
        check_same(request, core, job);
        ++n_checked;
      }
    }
  }
  CHECK(n_checked > 100);
}

TEST_CASE("every strategy of the core is listed, with its kind") {
  REQUIRE(packsim_n_strategies() == std::ssize(strategies()));
  for (std::int64_t index = 0; index < packsim_n_strategies(); ++index) {
    const packsim_strategy_info& info = *packsim_strategy(index);
    const Strategy& strategy = strategies()[static_cast<std::size_t>(index)];
    CHECK(info.name == strategy.name);
    CHECK(info.summary == strategy.summary);
    CHECK((info.kind == PACKSIM_FORMS_PACKS) == !strategy.forms_iterations());
    const bool priced = strategy.name == "planner" || strategy.name == "flexsp";
    CHECK((info.kind == PACKSIM_NEEDS_PRICES) == priced);
  }
}

TEST_CASE("a program that sets nothing gets the core's defaults") {
  const packsim_pack_request request = default_request();
  const OptionValues options;
  CHECK(request.struct_size == sizeof request);
  CHECK(request.strategy == nullptr);
  CHECK(std::string(request.over_long) == "error");
  CHECK(std::string(request.empty) == "drop");
  CHECK(option(options, "packer") == OptionValue(request.packer));
  CHECK(option(options, "seed") == OptionValue(request.seed));
  CHECK(option(options, "shuffle") == OptionValue(request.shuffle != 0));
  CHECK(option(options, "greedy_fill") == OptionValue(request.greedy_fill != 0));
  CHECK(option(options, "padded_batches") == OptionValue(request.padded_batches != 0));
  CHECK(option(options, "rounds") == OptionValue(request.rounds));
  CHECK(option(options, "linear_weight_tokens") == OptionValue(request.linear_weight_tokens));
}

TEST_CASE("an option reaches the strategies that read it") {
  const Lengths lengths = heavy_tailed_lengths(2000, 3, 4096);
  const Case job = cases()[0];
  const BatchSetting setting = setting_of(job);
  struct Change {
    const char* strategy;
    void (*of_request)(packsim_pack_request&);
    void (*of_core)(OptionValues&);
  };
  using Request = packsim_pack_request;
  using Options = OptionValues;
  const Change changes[] = {
      {"isf", [](Request& r) { r.shuffle = 0; }, [](Options& o) { o.set("shuffle", false); }},
      {"isf", [](Request& r) { r.rounds = 2; }, [](Options& o) { o.set("rounds", 2); }},
      {"isf", [](Request& r) { r.threshold_tokens = 99; }, [](Options& o) { o.set("threshold_tokens", 99); }},
      {"spfhp", [](Request& r) { r.max_samples_per_pack = 3; },
       [](Options& o) { o.set("max_samples_per_pack", 3); }},
      {"none", [](Request& r) { r.batch_samples = 5; }, [](Options& o) { o.set("batch_samples", 5); }},
      {"sorted", [](Request& r) { r.batch_samples = r.padded_batches = 0; },
       [](Options& o) {
         o.set("batch_samples", 0);
         o.set("padded_batches", false);
       }},
      {"hbp", [](Request& r) { r.packer = "bfd"; }, [](Options& o) { o.set("packer", "bfd"); }},
      {"hbp", [](Request& r) { r.greedy_fill = 0; }, [](Options& o) { o.set("greedy_fill", false); }},
      {"verl_kk", [](Request& r) { r.linear_weight_tokens = 1; },
       [](Options& o) { o.set("linear_weight_tokens", 1); }},
      {"verl_kk", [](Request& r) { r.batch_tokens = 9000; }, [](Options& o) { o.set("batch_tokens", 9000); }},
      {"trl_lpt", [](Request& r) { r.samples_per_iteration = 50; },
       [](Options& o) { o.set("samples_per_iteration", 50); }},
      {"wlb", [](Request& r) { r.outlier_queues = 4; }, [](Options& o) { o.set("outlier_queues", 4); }},
      {"wlb", [](Request& r) { r.outlier_threshold_tokens = 1000; },
       [](Options& o) { o.set("outlier_threshold_tokens", 1000); }},
      {"wlb", [](Request& r) { r.micro_batch_tokens = 4000; },
       [](Options& o) { o.set("micro_batch_tokens", 4000); }},
  };
  for (const Change& change : changes) {
    CAPTURE(change.strategy);
    packsim_pack_request request = c_request(change.strategy, job);
    PackRequest core{
        .lengths_tokens = lengths, .capacities_tokens = job.capacities_tokens, .setting = &setting};
    change.of_request(request);
    change.of_core(core.options);
    check_same(request, core, job);
  }
}

TEST_CASE("the other fields of a request reach the core") {
  Lengths lengths = heavy_tailed_lengths(2000, 5, 3000);
  lengths[10] = 0;
  const Case job = cases()[0];
  packsim_pack_request request = c_request("ffd", job);
  request.empty = "keep";
  request.over_long = "truncate";
  request.longest_tokens = 1000;
  request.window_samples = 300;
  check_same(request,
             {.lengths_tokens = lengths,
              .capacities_tokens = job.capacities_tokens,
              .over_long = OverLong::truncate,
              .longest_tokens = 1000,
              .empty = Empty::keep,
              .window_samples = 300},
             job);
}

}  // namespace packsim::testing
