#include "packing/options/token_count.hpp"

#include <catch2/catch.hpp>

#include "packing/options/shared_options.hpp"

namespace packsim {

TEST_CASE("A number of tokens may have a unit: K is 1024, M is 1024 x 1024, in either case") {
  CHECK(token_count_of("65536") == 65536);
  CHECK(token_count_of("64K") == 65536);  // 64 x 1024
  CHECK(token_count_of("64k") == 65536);
  CHECK(token_count_of("128K") == 131072);
  CHECK(token_count_of("1M") == 1048576);
  CHECK(token_count_of("16m") == 16777216);
  CHECK(token_count_of("0K") == 0);
  CHECK(token_count_of("-1") == -1);  // threshold_tokens: not set
}

TEST_CASE("Anything else is no number of tokens") {
  for (const char* text :
       {"", "K", "64 K", "64KB", "64KK", "6.4K", "64G", "+64K", "-1K", "0x40K", " 64K", "1e3"}) {
    CAPTURE(text);
    CHECK(token_count_of(text) == std::nullopt);
  }
}

TEST_CASE("A number of tokens that 64 bits do not hold is refused, not cut off") {
  // 2^63 - 1 = 9223372036854775807 = 9007199254740991 x 1024 + 1023.
  CHECK(token_count_of("9223372036854775807") == 9223372036854775807);
  CHECK(token_count_of("9007199254740991K") == 9223372036854774784);
  CHECK(token_count_of("9007199254740992K") == std::nullopt);
  CHECK(token_count_of("9223372036854775808") == std::nullopt);
}

TEST_CASE("A text without a unit is no number where only a unit makes it one") {
  CHECK(token_count_with_unit("64K") == 65536);
  CHECK(token_count_with_unit("65536") == std::nullopt);
  CHECK(token_count_with_unit("") == std::nullopt);
}

TEST_CASE("A name ends with its unit") {
  CHECK(counts_tokens("capacity_tokens"));
  CHECK(counts_tokens("tokens_per_iteration"));
  CHECK(counts_tokens("tokens"));
  CHECK_FALSE(counts_tokens("nodes"));
  CHECK_FALSE(counts_tokens("batch_samples"));
}

TEST_CASE("Options that count tokens are read with a unit, others are not") {
  CHECK(value_of_text(kBatchTokens, "512K") == OptionValue(std::int64_t{524288}));  // 512 x 1024
  CHECK(value_of_text(kThresholdTokens, "17M") == std::nullopt);                    // over 16M
  CHECK(value_of_text(kRounds, "1K") == std::nullopt);
}

}  // namespace packsim
