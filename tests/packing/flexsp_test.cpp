// The parts of the FlexSP-like strategy that come before any assignment: costs, and the two dynamic
// programmes against plain ones and every cut.

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "packing/flexsp/buckets.hpp"
#include "tests/packing/flexsp_inputs.hpp"

namespace packsim::testing {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// A row of a dynamic programme after the other, as published: value(i, q) is the least over j of
// combine(value(j, q - 1), cost(j, i)); where several j do, the first.
template <typename Cost, typename Combine>
std::pair<std::vector<std::size_t>, std::int64_t> plain_cut(std::size_t n, std::size_t n_parts, Cost cost,
                                                            Combine combine) {
  std::vector<std::vector<std::int64_t>> value(n_parts + 1, std::vector<std::int64_t>(n + 1, kNone));
  auto from = std::vector<std::vector<std::size_t>>(n_parts + 1, std::vector<std::size_t>(n + 1, 0));
  value[0][0] = 0;
  for (std::size_t q = 1; q <= n_parts; ++q) {
    for (std::size_t i = 1; i <= n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (value[q - 1][j] == kNone) continue;
        const std::int64_t with = combine(value[q - 1][j], cost(j, i));
        if (with < value[q][i]) {
          value[q][i] = with;
          from[q][i] = j;
        }
      }
    }
  }
  std::vector<std::size_t> ends(n_parts);
  std::size_t end = n;
  for (std::size_t q = n_parts; q > 0; --q) {
    ends[q - 1] = end;
    end = from[q][end];
  }
  return {ends, value[n_parts][n]};
}

// Every cut of n into n_parts, none empty.
void for_each_cut(std::size_t n, std::size_t n_parts, std::vector<std::size_t>& ends,
                  const std::function<void()>& visit) {
  const std::size_t begin = ends.empty() ? 0 : ends.back();
  if (ends.size() + 1 == n_parts) {
    ends.push_back(n);
    visit();
    ends.pop_back();
    return;
  }
  for (std::size_t end = begin + 1; end + (n_parts - ends.size() - 1) <= n; ++end) {
    ends.push_back(end);
    for_each_cut(n, n_parts, ends, visit);
    ends.pop_back();
  }
}

std::int64_t bucket_error(const Lengths& ascending, const std::vector<std::size_t>& ends) {
  std::int64_t error = 0;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    for (; begin < end; ++begin) error += ascending[end - 1] - ascending[begin];
  }
  return error;
}

}  // namespace

TEST_CASE("bucketing finds the buckets of the plain dynamic programme, ties included, and no cut is better") {
  Generator generator(1);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::size_t n = 1 + uniform_up_to(generator, 11);
    // Few different lengths make ties.
    Lengths lengths = random_lengths(generator, n, repeat % 2 == 0 ? 4 : 5000);
    std::ranges::sort(lengths);
    for (std::size_t q = 1; q <= n; ++q) {
      const auto cost = [&](std::size_t j, std::size_t i) {
        std::int64_t error = 0;
        for (std::size_t k = j; k < i; ++k) error += lengths[i - 1] - lengths[k];
        return error;
      };
      const auto [ends, error] = plain_cut(n, q, cost, std::plus<>());
      const flexsp::Bucketing bucketing = flexsp::bucket_lengths(lengths, q);
      CHECK(bucketing.ends == ends);
      CHECK(bucketing.error_tokens == error);
      if (repeat >= 40) continue;
      std::int64_t least = kNone;
      std::vector<std::size_t> cut;
      for_each_cut(n, q, cut, [&] { least = std::min(least, bucket_error(lengths, cut)); });
      CHECK(bucketing.error_tokens == least);
    }
  }
}

TEST_CASE("there are as many buckets as asked for, or as few more as the cluster has room for") {
  const Lengths lengths = {10, 20, 30, 40};  // 100 tokens
  // Two buckets: {10, 20} and {30, 40}, an error of 20. (100 + 140) / 2 = 120 tokens are allowed.
  CHECK(flexsp::bucket_within(lengths, 2, 140).ends == std::vector<std::size_t>{2, 4});
  // (100 + 138) / 2 = 119 are not enough; three buckets err by 10.
  CHECK(flexsp::bucket_within(lengths, 2, 138).ends.size() == 3);
  // No room at all: every sequence is its own bucket.
  CHECK(flexsp::bucket_within(lengths, 2, 100).ends == std::vector<std::size_t>{1, 2, 3, 4});
  CHECK(flexsp::bucket_within(lengths, 9, 1000).ends.size() == 4);
  CHECK(flexsp::bucket_within({}, 2, 100).ends.empty());
  CHECK_THROWS_WITH(flexsp::bucket_lengths(lengths, 5), "n_buckets: expected 1..4, got 5");
  CHECK_THROWS_WITH(flexsp::bucket_lengths(lengths, 0), "n_buckets: expected 1..4, got 0");
}

TEST_CASE("chunks are those of the plain dynamic programme, ties included, and no cut is more even") {
  Generator generator(2);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::size_t n = 1 + uniform_up_to(generator, 11);
    const Lengths lengths = random_lengths(generator, n, repeat % 2 == 0 ? 4 : 5000);
    for (const flexsp::ChunkOrder order : {flexsp::ChunkOrder::sorted, flexsp::ChunkOrder::distribution}) {
      flexsp::Chunker chunker(lengths, all_items(lengths), order);
      for (std::size_t k = 1; k <= n; ++k) {
        Lengths ordered = lengths;
        if (order == flexsp::ChunkOrder::sorted) std::ranges::sort(ordered, std::greater());
        const auto cost = [&](std::size_t j, std::size_t i) {
          return std::accumulate(ordered.begin() + static_cast<std::ptrdiff_t>(j),
                                 ordered.begin() + static_cast<std::ptrdiff_t>(i), std::int64_t{0});
        };
        const auto combine = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
        const auto [ends, largest] = plain_cut(n, k, cost, combine);
        std::vector<std::size_t> ours;
        Lengths together;
        for (const auto& chunk : chunker.chunks(k)) {
          for (const ItemIndex item : chunk) together.push_back(lengths[item]);
          ours.push_back(together.size());
        }
        CHECK(together == ordered);
        CHECK(ours == ends);
        if (repeat >= 40) continue;
        std::int64_t least = kNone;
        std::vector<std::size_t> cut;
        for_each_cut(n, k, cut, [&] {
          std::int64_t most = 0;
          for (std::size_t p = 0; p < k; ++p) most = std::max(most, cost(p == 0 ? 0 : cut[p - 1], cut[p]));
          least = std::min(least, most);
        });
        CHECK(largest == least);
      }
    }
  }
  const Lengths two = {1, 2};
  CHECK_THROWS_WITH(flexsp::Chunker(two, all_items(two)).chunks(3), "n_chunks: expected 1..2, got 3");
}

TEST_CASE("the fewest chunks are those that the cluster can hold") {
  const Lengths lengths = {60, 60, 60};
  flexsp::Chunker chunker(lengths, all_items(lengths));
  CHECK(chunker.fewest_chunks(200) == 1);
  // 180 = 180 is not less than the capacity: the published code wants room to spare.
  CHECK(chunker.fewest_chunks(180) == 2);
  // ceil(180 / 100) = 2 chunks would have 120 tokens in one of them.
  CHECK(chunker.fewest_chunks(100) == 3);
  // Nothing holds 60 < 60, and there are no more than three chunks to have.
  CHECK(chunker.fewest_chunks(60) == 3);
}

TEST_CASE("our own prices become a straight line between half a pack and a whole one") {
  // 0.1 s and 1 ms a token, and twice as much beyond 1000 tokens; 5 s a document of any length.
  PackCost cost{.tokens_s = {{0, 1000, 2000}, {0.1, 1.1, 3.1}}, .document_s = {{0}, {5.0}}};
  const flexsp::SequenceCost low = flexsp::profile_cost(cost, 1000);
  CHECK(low.fixed_s == Approx(0.1));
  CHECK(low.token_s == Approx(1e-3));
  CHECK(low.group_s(Lengths{100, 200}) == Approx(0.1 + 0.3 + 2 * 5.0));
  CHECK(low.group_s({}) == 0);
  // The line from (1000, 1.1) to (2000, 3.1) starts at -0.9: no micro-batch is given time back.
  const flexsp::SequenceCost high = flexsp::profile_cost(cost, 2000);
  CHECK(high.token_s == Approx(2e-3));
  CHECK(high.fixed_s == 0);
}

TEST_CASE("the published cost in FlexSP's form is the published cost") {
  const Lengths lengths = {100, 5000, 32768};
  for (const flexsp::PublishedModel& model : flexsp::kPublishedModels) {
    for (const int degree : {1, 2, 8, 64}) {
      CHECK(1e3 * flexsp::published_cost(model, degree).group_s(lengths) ==
            Approx(published_compute_ms(model, lengths, degree) +
                   flexsp::published_all_to_all_ms(model, 100 + 5000 + 32768, degree, flexsp::kTwoIbRates)));
    }
    CHECK_THROWS_WITH(flexsp::published_cost(model, 128),
                      "flexsp: no published all-to-all bandwidth for SP degree 128");
  }
}

}  // namespace packsim::testing
