// Loss tokens of cut samples against a count of every token, and spans that do not fit.

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "packing/loss/loss_spans.hpp"

namespace packsim::testing {
namespace {

struct SpanArrays {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> begins;
  std::vector<std::int32_t> ends;

  LossSpans view() const { return {offsets, begins, ends}; }

  void add(const std::vector<bool>& has_loss) {
    for (std::size_t t = 0; t < has_loss.size(); ++t) {
      if (!has_loss[t]) continue;
      if (t == 0 || !has_loss[t - 1]) begins.push_back(static_cast<std::int32_t>(t));
      if (t + 1 == has_loss.size() || !has_loss[t + 1]) ends.push_back(static_cast<std::int32_t>(t) + 1);
    }
    offsets.push_back(std::ssize(begins));
  }
};

TEST_CASE("items of cut samples have the loss tokens that lie in them", "[loss]") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<bool>> masks(1 + random() % 8);
    std::vector<std::int32_t> lengths_tokens;
    SpanArrays spans;
    for (std::vector<bool>& mask : masks) {
      mask.resize(1 + random() % 40);
      const auto with_loss_of_four = random() % 5;
      for (std::size_t t = 0; t < mask.size(); ++t) mask[t] = random() % 4 < with_loss_of_four;
      lengths_tokens.push_back(static_cast<std::int32_t>(mask.size()));
      spans.add(mask);
    }
    const OverLong over_long = round % 2 == 0 ? OverLong::split : OverLong::truncate;
    const Packing packing =
        pack("bfd", {.lengths_tokens = lengths_tokens, .capacities_tokens = {9}, .over_long = over_long});
    const std::vector<std::int32_t> found = loss_tokens_of_items(packing, lengths_tokens, spans.view());
    REQUIRE(found.size() == packing.lengths_tokens.size());
    for (std::size_t item = 0; item < found.size(); ++item) {
      const Piece piece = packing.piece(static_cast<ItemIndex>(item));
      std::int32_t expected = 0;
      for (std::int32_t t = 1; t < piece.n_tokens; ++t)
        expected += masks[piece.sample_index][static_cast<std::size_t>(piece.start_token + t)];
      CHECK(found[item] == expected);
    }
  }
}

TEST_CASE("loss spans that do not fit their samples are refused", "[loss]") {
  const std::vector<std::int32_t> lengths_tokens = {20, 5};
  const auto mistake = [&](const SpanArrays& spans) -> std::string {
    try {
      check_loss_spans(spans.view(), lengths_tokens);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(mistake({{0, 1, 1}, {0}, {20}}) == "none");
  CHECK(mistake({{}, {}, {}}) == "expected 2 samples, got 0");
  CHECK(mistake({{0, 1}, {0}, {2}}) == "expected 2 samples, got 1");
  CHECK(mistake({{0, 0, 1}, {0}, {6}}) == "sample 1: expected a span of loss tokens in 0..5, got 0..6");
  CHECK(mistake({{0, 2, 2}, {3, 1}, {5, 9}}) ==
        "sample 0: expected a span of loss tokens in 5..20, got 1..9");
  CHECK(mistake({{0, -1, 1}, {0}, {1}}) == "expected offsets that do not fall, at least 0, got -1");
}

}  // namespace
}  // namespace packsim::testing
