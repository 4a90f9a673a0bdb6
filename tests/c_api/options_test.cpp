// Options by name, for programs that learn of them from the library.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/c_api/packings.hpp"
#include "tests/option_cases.hpp"

namespace packsim::testing {
namespace {

constexpr std::array<std::int32_t, 5> kNamedLengths = {5, 9, 4, 1, 3};
constexpr std::int64_t kNamedCapacity = 1024;

packsim_pack_request request_for(const char* strategy) {
  packsim_pack_request request = default_request();
  request.strategy = strategy;
  request.capacities_tokens = &kNamedCapacity;
  request.n_capacities = 1;
  request.tokens_per_iteration = 64;
  return request;
}

std::string answer_of_c(packsim_pack_request request, const std::vector<packsim_option>& options) {
  request.options = options.data();
  request.n_options = std::ssize(options);
  packsim_packing* packing = nullptr;
  const packsim_status status = packsim_pack(kNamedLengths.data(), kNamedLengths.size(), &request, &packing);
  const OwnedPacking owned(packing);
  return status == PACKSIM_OK ? "accepted" : packsim_last_error();
}

}  // namespace

TEST_CASE("C takes the default and both ends of every option, and refuses what is outside", "[plain]") {
  packsim_test::for_each_option_case([](const Strategy& strategy, const Option& option, const auto& one) {
    const std::string text = text_of(one.value);
    CAPTURE(strategy.name, option.name, text);
    const std::string answer =
        answer_of_c(request_for(strategy.name.data()), {{option.name.data(), text.c_str()}});
    if (!one.accepted) {
      CHECK(answer ==
            std::string(option.name) + ": expected " + expected_of(option) + ", got \"" + text + "\"");
    } else if (strategy.needs_prices) {
      CHECK_THAT(answer, Catch::StartsWith("strategy: expected one that needs no prices"));
    } else {
      CHECK(answer == "accepted");
    }
  });
}

TEST_CASE("C describes the options that a strategy reads") {
  for (std::int64_t s = 0; s < packsim_n_strategies(); ++s) {
    const Strategy& strategy = strategies()[static_cast<std::size_t>(s)];
    CAPTURE(strategy.name);
    REQUIRE(packsim_strategy_n_options(s) == std::ssize(strategy.options));
    for (std::int64_t o = 0; o < packsim_strategy_n_options(s); ++o) {
      const Option& option = *strategy.options[static_cast<std::size_t>(o)];
      const packsim_option_info& info = *packsim_strategy_option(s, o);
      CHECK(info.name == option.name);
      CHECK(info.text == option.text);
      CHECK(info.expected == expected_of(option));
      CHECK(info.default_value == text_of(default_value(option)));
      CHECK((info.type == PACKSIM_BOOLEAN) == (option.type == OptionType::boolean));
      CHECK((info.type == PACKSIM_INTEGER) == (option.type == OptionType::integer));
      CHECK((info.type == PACKSIM_SECONDS) == (option.type == OptionType::number));
    }
    CHECK(packsim_strategy_option(s, packsim_strategy_n_options(s)) == nullptr);
  }
  CHECK(packsim_strategy_n_options(-1) == 0);
  CHECK(packsim_strategy_option(packsim_n_strategies(), 0) == nullptr);
}

TEST_CASE("a named option goes before its field, and must be one that the strategy reads") {
  packsim_pack_request request = request_for("none");
  request.batch_samples = 1;
  CHECK(answer_of_c(request, {{"batch_samples", "5"}}) == "accepted");
  CHECK(answer_of_c(request, {{"rounds", "5"}}) ==
        "options: expected those that none reads, which are: batch_samples, shuffle, seed; got \"rounds\"");
  CHECK(answer_of_c(request_for("ffd"), {{"rounds", "5"}}) ==
        "options: expected those that ffd reads, which are: max_samples_per_pack; got \"rounds\"");
  CHECK(answer_of_c(request, {{nullptr, "5"}}) == "options: name: expected a name, got NULL");
  CHECK(answer_of_c(request, {{"batch_samples", nullptr}}) == "batch_samples: expected a name, got NULL");

  request.options = nullptr;
  request.n_options = 1;
  packsim_packing* packing = nullptr;
  CHECK(packsim_pack(kNamedLengths.data(), 5, &request, &packing) == PACKSIM_INVALID_ARGUMENT);
  CHECK(packsim_last_error() == std::string("options: expected 1 values, got NULL"));
}

TEST_CASE("a named option packs as its field does") {
  const std::vector<std::int32_t> lengths(9, 10);
  for (const bool by_name : {false, true}) {
    packsim_pack_request request = request_for("axolotl_multipack");
    const packsim_option limit = {"max_samples_per_pack", "2"};
    if (by_name) {
      request.options = &limit;
      request.n_options = 1;
    } else {
      request.max_samples_per_pack = 2;
    }
    packsim_packing* packing = nullptr;
    REQUIRE(packsim_pack(lengths.data(), std::ssize(lengths), &request, &packing) == PACKSIM_OK);
    const OwnedPacking owned(packing);
    CHECK(packsim_packing_group(packing, 0)->n_packs == 5);  // 9 samples by twos
  }
}

TEST_CASE("a program with the header of 0.1.0 packs as before") {
  packsim_pack_request request = request_for("ffd");
  request.struct_size = offsetof(packsim_pack_request, options);
  request.n_options = 77;  // memory that is not the request's
  packsim_packing* packing = nullptr;
  REQUIRE(packsim_pack(kNamedLengths.data(), 5, &request, &packing) == PACKSIM_OK);
  const OwnedPacking owned(packing);
  CHECK(packsim_packing_group(packing, 0)->n_packs == 1);
}

}  // namespace packsim::testing
