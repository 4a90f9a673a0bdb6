// Every mistake is refused with a status and a text that names the argument, what was expected and what came.

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/c_api/packings.hpp"

namespace packsim::testing {
namespace {

constexpr std::array<std::int64_t, 2> kCapacities = {10, 20};
constexpr std::array<std::int32_t, 5> kLengths = {5, 9, 4, 1, 3};

packsim_pack_request good_request() {
  packsim_pack_request request = default_request();
  request.strategy = "ffd";
  request.capacities_tokens = kCapacities.data();
  request.n_capacities = 1;
  return request;
}

// The text of the refusal, "" where there was none.
std::string refusal(const packsim_pack_request& request,
                    const std::vector<std::int32_t>& lengths = {kLengths.begin(), kLengths.end()}) {
  int not_a_packing = 0;
  auto* packing = reinterpret_cast<packsim_packing*>(&not_a_packing);
  const packsim_status status = packsim_pack(lengths.data(), std::ssize(lengths), &request, &packing);
  const OwnedPacking owned(packing);
  if (status == PACKSIM_OK) return "";
  CHECK(status == PACKSIM_INVALID_ARGUMENT);
  CHECK(packing == nullptr);
  return packsim_last_error();
}

template <typename Change>
std::string refusal_after(Change change) {
  packsim_pack_request request = good_request();
  change(request);
  return refusal(request);
}

using Request = packsim_pack_request;

}  // namespace

TEST_CASE("a good request is not refused") {
  CHECK(refusal(good_request()) == "");
  CHECK(refusal(good_request(), {}) == "");  // no samples, no packs
  packsim_packing* packing = nullptr;
  const Request request = good_request();
  CHECK(packsim_pack(nullptr, 0, &request, &packing) == PACKSIM_OK);
  CHECK(packsim_packing_group(packing, 0)->n_packs == 0);
  packsim_packing_free(packing);
}

TEST_CASE("NULL is refused where something is needed") {
  const Request request = good_request();
  packsim_packing* packing = nullptr;
  CHECK(packsim_pack(nullptr, 5, &request, &packing) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == std::string("lengths_tokens: expected a pointer, got NULL"));
  CHECK(packsim_pack(kLengths.data(), 5, nullptr, &packing) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == std::string("request: expected a pointer, got NULL"));
  CHECK(packsim_pack(kLengths.data(), 5, &request, nullptr) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == std::string("packing: expected a pointer, got NULL"));
  CHECK(packsim_pack_request_init(nullptr, sizeof(Request)) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == std::string("request: expected a pointer, got NULL"));

  CHECK(refusal_after([](Request& r) { r.strategy = nullptr; }) == "strategy: expected a name, got NULL");
  CHECK(refusal_after([](Request& r) { r.over_long = nullptr; }) == "over_long: expected a name, got NULL");
  CHECK(refusal_after([](Request& r) { r.empty = nullptr; }) == "empty: expected a name, got NULL");
  CHECK(refusal_after([](Request& r) { r.packer = nullptr; }) == "packer: expected a name, got NULL");
  CHECK(refusal_after([](Request& r) { r.capacities_tokens = nullptr; }) ==
        "capacities_tokens: expected 1 values, got NULL");
  CHECK(refusal_after([](Request& r) {
          r.strategy = "trl_lpt";
          r.tokens_per_iteration = 100;
          r.n_sp_degrees = 1;
        }) == "sp_degrees: expected 1 values, got NULL");
}

TEST_CASE("a struct_size that no header had is refused") {
  const std::size_t first_size = offsetof(Request, options);  // of 0.1.0
  const std::string expected = "struct_size: expected " + std::to_string(first_size) + ".." +
                               std::to_string(sizeof(Request)) +
                               ", as packsim_pack_request_init() sets it, got ";
  for (const std::size_t size : {std::size_t{0}, first_size - 1, sizeof(Request) + 8}) {
    CHECK(refusal_after([&](Request& r) { r.struct_size = size; }) == expected + std::to_string(size));
    std::vector<char> untouched(sizeof(Request) + 8, 'x');
    Request request;
    std::memcpy(&request, untouched.data(), sizeof request);
    CHECK(packsim_pack_request_init(&request, size) == PACKSIM_INVALID_ARGUMENT);
    CHECK(packsim_last_error() == expected + std::to_string(size));
    CHECK(std::memcmp(&request, untouched.data(), sizeof request) == 0);
  }
}

TEST_CASE("lengths that cannot be packed are refused, the first ones named") {
  const Request request = good_request();
  CHECK(refusal(request, {5, -1, 4}) ==
        "lengths_tokens: expected lengths of at least 0, got 1 that are not: sample 1 has -1");
  CHECK(refusal(request, {5, 11, 4, 12}) ==
        "lengths_tokens: expected lengths of at most 10 (or another over_long policy), got 2 that are not: "
        "sample 1 has 11, sample 3 has 12");
  Request strict = request;
  strict.empty = "error";
  CHECK(refusal(strict, {5, 0}) ==
        "lengths_tokens: expected lengths of at least 1 (or another empty policy), got 1 that are not: "
        "sample 1 has 0");
  packsim_packing* packing = nullptr;
  CHECK(packsim_pack(kLengths.data(), -1, &request, &packing) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == std::string("n_samples: expected 0..4294967295, got -1"));
  CHECK(packsim_pack(kLengths.data(), std::int64_t{1} << 32, &request, &packing) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == std::string("n_samples: expected 0..4294967295, got 4294967296"));
}

TEST_CASE("names that are not known are refused, and the known ones listed") {
  const std::string unknown = refusal_after([](Request& r) { r.strategy = "fdd"; });
  CHECK_THAT(unknown, Catch::StartsWith("strategy: expected one of none, random, ") &&
                          Catch::EndsWith("planner, flexsp, got \"fdd\""));
  CHECK(refusal_after([](Request& r) { r.over_long = "cut"; }) ==
        "over_long: expected one of error, drop, truncate, split, own_pack, got \"cut\"");
  CHECK(refusal_after([](Request& r) { r.empty = ""; }) ==
        "empty: expected one of drop, keep, error, got \"\"");
  CHECK(refusal_after([](Request& r) {
          r.strategy = "hbp";
          r.packer = "wrapped";
        }) ==
        "packer: expected one of random, isf, ffd, ffs, bfd, bfs, spfhp, lpfhp, nemo_ffs, longalign, got "
        "\"wrapped\"");
}

TEST_CASE("a text too long for the buffer is cut, and ends") {
  const std::string long_name(100'000, 'x');
  const std::string text = refusal_after([&](Request& r) { r.over_long = long_name.c_str(); });
  CHECK(text.size() < 10'000);
  CHECK_THAT(text, Catch::StartsWith("over_long: expected one of error"));
}

TEST_CASE("strategies that need prices are refused with the program that has them") {
  for (std::int64_t index = 0; index < packsim_n_strategies(); ++index) {
    const packsim_strategy_info& info = *packsim_strategy(index);
    if (info.kind != PACKSIM_NEEDS_PRICES) continue;
    CHECK(refusal_after([&](Request& r) { r.strategy = info.name; }) ==
          "strategy: expected one that needs no prices, got \"" + std::string(info.name) +
              "\"; packsim run packs with it, for the model and cluster of a scenario");
  }
}

TEST_CASE("numbers out of range are refused") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  struct Field {
    const char* name;
    std::int64_t Request::*field;
  };
  const Field fields[] = {{"n_capacities", &Request::n_capacities},
                          {"longest_tokens", &Request::longest_tokens},
                          {"window_samples", &Request::window_samples},
                          {"n_gpus", &Request::n_gpus},
                          {"tokens_per_iteration", &Request::tokens_per_iteration},
                          {"n_sp_degrees", &Request::n_sp_degrees},
                          {"rounds", &Request::rounds},
                          {"threshold_tokens", &Request::threshold_tokens},
                          {"max_samples_per_pack", &Request::max_samples_per_pack},
                          {"batch_samples", &Request::batch_samples},
                          {"linear_weight_tokens", &Request::linear_weight_tokens},
                          {"outlier_queues", &Request::outlier_queues},
                          {"outlier_threshold_tokens", &Request::outlier_threshold_tokens},
                          {"micro_batch_tokens", &Request::micro_batch_tokens},
                          {"batch_tokens", &Request::batch_tokens},
                          {"samples_per_iteration", &Request::samples_per_iteration}};
  for (const Field& field : fields) {
    for (const std::int64_t value : {kLeast, kMost}) {
      CHECK_THAT(refusal_after([&](Request& r) { r.*field.field = value; }),
                 Catch::StartsWith(std::string(field.name) + ": expected ") &&
                     Catch::EndsWith(", got " + std::to_string(value)));
    }
  }
  CHECK(refusal_after([](Request& r) { r.n_capacities = 2; }) ==
        "capacities_tokens: expected one pack length for ffd, got 2");
  constexpr std::array<std::int64_t, 1> kNothing = {0};
  CHECK(refusal_after([&](Request& r) { r.capacities_tokens = kNothing.data(); }) ==
        "capacities_tokens[0]: expected 1..16777216, got 0");
}

TEST_CASE("a setting that packs cannot run in is refused") {
  const auto placed = [](auto change) {
    return refusal_after([&](Request& r) {
      r.strategy = "megatron_dynamic_cp";
      r.n_capacities = 2;
      r.tokens_per_iteration = 100;
      change(r);
    });
  };
  const std::array<std::int32_t, 2> degrees = {1, 2};
  const std::array<std::int32_t, 1> zero = {0};
  CHECK(placed([&](Request& r) {
          r.sp_degrees = degrees.data();
          r.n_sp_degrees = 2;
        }) == "");  // two GPUs, the largest degree
  CHECK(placed([](Request& r) { r.tokens_per_iteration = 0; }) ==
        "tokens_per_iteration: expected >= 1 for megatron_dynamic_cp, got 0");
  CHECK(placed([&](Request& r) {
          r.sp_degrees = zero.data();
          r.n_sp_degrees = 1;
        }) == "sp_degrees: expected 1..1048576, got 0");
  CHECK(placed([&](Request& r) {
          r.sp_degrees = degrees.data();
          r.n_sp_degrees = 3;
        }) == "n_sp_degrees: expected 0, 1, or one for each of 2 capacities, got 3");
  CHECK(placed([&](Request& r) {
          r.sp_degrees = degrees.data();
          r.n_sp_degrees = 2;
          r.n_gpus = 3;
        }) == "GPUs of a pack (sp_degree): expected a divisor of 3 GPUs, got 2");
}

TEST_CASE("readers refuse NULL and what is not there; freeing NULL is fine") {
  packsim_packing_free(nullptr);
  CHECK(packsim_packing_n_groups(nullptr) == 0);
  CHECK(packsim_packing_n_items(nullptr) == 0);
  CHECK(packsim_packing_n_iterations(nullptr) == 0);
  const std::string null = "packing: expected a pointer, got NULL";
  packsim_piece piece;
  CHECK(packsim_packing_counts(nullptr) == nullptr);
  CHECK(packsim_last_error() == null);
  CHECK(packsim_packing_group(nullptr, 0) == nullptr);
  CHECK(packsim_packing_iteration(nullptr, 0) == nullptr);
  CHECK(packsim_packing_piece(nullptr, 0, &piece) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == null);

  const Request request = good_request();
  packsim_packing* packing = nullptr;
  REQUIRE(packsim_pack(kLengths.data(), 5, &request, &packing) == PACKSIM_OK);
  const OwnedPacking owned(packing);
  for (const std::int64_t index : {-1, 1}) {
    CHECK(packsim_packing_group(packing, index) == nullptr);
    CHECK(packsim_last_error() == "group: expected at least 0 and below 1, got " + std::to_string(index));
  }
  CHECK(packsim_packing_iteration(packing, 0) == nullptr);
  CHECK(packsim_last_error() == std::string("iteration: expected at least 0 and below 0, got 0"));
  for (const std::int64_t item : {-1, 5}) {
    CHECK(packsim_packing_piece(packing, item, &piece) == PACKSIM_INVALID_ARGUMENT);
    CHECK(packsim_last_error() == "item: expected at least 0 and below 5, got " + std::to_string(item));
  }
  CHECK(packsim_packing_piece(packing, 0, nullptr) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_strategy(-1) == nullptr);
  CHECK(packsim_strategy(packsim_n_strategies()) == nullptr);
}

TEST_CASE("each thread has its own last error, and success leaves it", "[threads]") {
  CHECK(packsim_strategy(-1) == nullptr);
  const std::string mine = packsim_last_error();
  std::string of_other = "unread";
  std::string of_other_later;
  std::thread([&] {
    of_other = packsim_last_error();
    packsim_strategy(-2);
    of_other_later = packsim_last_error();
  }).join();
  CHECK(of_other == "");
  CHECK_THAT(of_other_later, Catch::EndsWith("got -2"));
  CHECK(packsim_strategy(0) != nullptr);
  CHECK(packsim_last_error() == mine);
  CHECK_THAT(mine, Catch::EndsWith("got -1"));
}

TEST_CASE("the version is that of the header") {
  const std::string version = std::to_string(PACKSIM_VERSION_MAJOR) + "." +
                              std::to_string(PACKSIM_VERSION_MINOR) + "." +
                              std::to_string(PACKSIM_VERSION_PATCH);
  CHECK(packsim_version() == version);
  CHECK(packsim_version() == std::string(PACKSIM_VERSION));
}

}  // namespace packsim::testing
