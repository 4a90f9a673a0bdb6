// A stream packed in windows: what is promised about packs, books, memory, delay and resuming.

#include "packing/stream_packer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <random>

#include "packing/pack.hpp"
#include "tests/packing/naive_packers.hpp"

namespace packsim::testing {
namespace {

using StreamPackList = std::vector<std::vector<std::uint64_t>>;

void append(StreamPackList& list, const StreamPacks& packs) {
  for (std::size_t p = 0; p < packs.n_packs(); ++p) list.emplace_back(packs[p].begin(), packs[p].end());
}

StreamPackList packed_at_once(const StreamSetting& setting, std::span<const std::int32_t> lengths) {
  StreamPacker packer(setting);
  StreamPackList list;
  append(list, packer.push(lengths));
  append(list, packer.finish());
  return list;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

Lengths with_empty_and_over_long(std::size_t n, std::uint32_t seed) {
  Lengths lengths = heavy_tailed_lengths(n, seed, 9000);
  for (std::size_t i = 0; i < n; i += 37) lengths[i] = 0;
  return lengths;
}

const std::vector<std::string_view>& strategies_of_streams() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> found;
    for (const Strategy& strategy : strategies()) {
      if (can_pack_a_group(strategy)) found.push_back(strategy.name);
    }
    return found;
  }();
  return names;
}

StreamSetting setting_of(std::string_view strategy, std::int64_t window_samples) {
  return {.strategy = strategy,
          .capacity_tokens = 4096,
          .window_samples = window_samples,
          .over_long = OverLong::truncate};
}

}  // namespace

TEST_CASE("a pack that is not full waits for the next window") {
  // Window 1 holds 6 and 7: neither is 90 % full, but only half a window, one sample, may wait: the emptier.
  // Window 2 holds 6 and 4: full together.
  StreamPacker packer({.strategy = "bfd", .capacity_tokens = 10, .window_samples = 2});
  const Lengths first = {6, 7};
  CHECK(packer.push(first).samples == std::vector<std::uint64_t>{1});
  CHECK(packer.state().held == std::vector<HeldSample>{{0, 6, 1}});
  const Lengths second = {4};
  CHECK(packer.push(second).samples == std::vector<std::uint64_t>{0, 2});
  CHECK(packer.finish().n_packs() == 0);
  const StreamCounts& counts = packer.state().counts;
  CHECK(counts.n_packs == 2);
  CHECK(counts.carried_samples == 1);
  CHECK(counts.n_carries == 1);
  CHECK(counts.most_carried_samples == 1);
  CHECK(counts.longest_delay_samples == 2);  // sample 0 left when sample 2 had come
  CHECK(counts.total_delay_samples == 2);
}

TEST_CASE("a sample that was carried often enough leaves in the pack that it has") {
  // Samples of 6 never fit each other; of two, the first in stream order waits. Sample 0 waits twice.
  StreamPacker packer({.strategy = "bfd", .capacity_tokens = 10, .window_samples = 2, .most_carries = 2});
  const Lengths lengths = {6, 6, 6, 6};
  CHECK(packer.push(lengths).samples == std::vector<std::uint64_t>{1, 2, 0});
  CHECK(packer.state().held == std::vector<HeldSample>{{3, 6, 1}});
}

TEST_CASE("without carrying, a stream is packed like data with the same window") {
  const Lengths lengths = heavy_tailed_lengths(3000, 4, 4096);
  for (const std::string_view strategy : strategies_of_streams()) {
    for (const std::int64_t window : {1, 7, 700, 3000, 5000}) {
      INFO(strategy << " " << window);
      StreamSetting setting = setting_of(strategy, window);
      setting.carry_below_fraction = 0;
      const Packing whole =
          pack(strategy, {.lengths_tokens = lengths, .capacities_tokens = {4096}, .window_samples = window});
      StreamPackList expected;
      for (std::size_t p = 0; p < whole.n_packs(); ++p)
        expected.emplace_back(whole.groups[0][p].begin(), whole.groups[0][p].end());
      CHECK((packed_at_once(setting, lengths) == expected));
    }
  }
}

TEST_CASE("a window of the whole stream gives the packs of the whole data") {
  const Lengths lengths = heavy_tailed_lengths(2000, 5, 4096);
  for (const std::string_view strategy : strategies_of_streams()) {
    INFO(strategy);
    const Packing whole = pack(strategy, {.lengths_tokens = lengths, .capacities_tokens = {4096}});
    CHECK(packed_at_once(setting_of(strategy, 2001), lengths).size() == whole.n_packs());
  }
}

TEST_CASE("every sample of a stream is in one pack, or counted") {
  for (const std::string_view strategy : strategies_of_streams()) {
    for (const std::uint32_t seed : {1U, 2U, 3U, 4U}) {
      StreamSetting setting = setting_of(strategy, seed == 1 ? 3 : 150 * seed);
      setting.over_long = seed % 2 == 0 ? OverLong::drop : OverLong::truncate;
      setting.empty = seed == 3 ? Empty::keep : Empty::drop;
      INFO(strategy << " seed " << seed);
      const Lengths lengths = with_empty_and_over_long(2500, seed);
      StreamPacker packer(setting);
      StreamPackList packs;
      append(packs, packer.push(lengths));
      append(packs, packer.finish());

      std::vector<int> n_packs_of(lengths.size(), 0);
      std::int64_t fullest_tokens = 0;
      for (const auto& samples : packs) {
        std::int64_t tokens = 0;
        for (const std::uint64_t sample : samples) {
          ++n_packs_of.at(sample);
          tokens += std::min(lengths[sample], 4096);
        }
        fullest_tokens = std::max(fullest_tokens, tokens);
      }
      CHECK(fullest_tokens <= 4096);
      StreamCounts expected;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const bool is_long = lengths[i] > 4096;
        const bool is_dropped = is_long && setting.over_long == OverLong::drop;
        const bool is_empty = lengths[i] == 0 && setting.empty == Empty::drop;
        expected.n_tokens += lengths[i];
        expected.dropped_samples += is_dropped;
        expected.dropped_tokens += is_dropped ? lengths[i] : 0;
        expected.empty_samples += is_empty;
        expected.truncated_samples += is_long && !is_dropped;
        expected.truncated_tokens += is_long && !is_dropped ? lengths[i] - 4096 : 0;
        if (n_packs_of[i] != (is_dropped || is_empty ? 0 : 1)) FAIL_CHECK("sample " << i);
      }
      const StreamCounts& counts = packer.state().counts;
      CHECK(counts.n_samples == 2500);
      CHECK(counts.n_tokens == expected.n_tokens);
      CHECK(counts.dropped_samples == expected.dropped_samples);
      CHECK(counts.dropped_tokens == expected.dropped_tokens);
      CHECK(counts.empty_samples == expected.empty_samples);
      CHECK(counts.truncated_samples == expected.truncated_samples);
      CHECK(counts.truncated_tokens == expected.truncated_tokens);
      CHECK(counts.n_packs == static_cast<std::int64_t>(packs.size()));
      CHECK(counts.packed_samples == 2500 - expected.dropped_samples - expected.empty_samples);
      CHECK(counts.packed_tokens == expected.n_tokens - expected.dropped_tokens - expected.truncated_tokens);
    }
  }
}

TEST_CASE("packs do not depend on how the stream was fed") {
  std::mt19937 random(6);
  for (const std::string_view strategy : strategies_of_streams()) {
    for (const std::int64_t window : {1, 2, 50, 333}) {
      INFO(strategy << " " << window);
      const Lengths lengths = with_empty_and_over_long(1500, static_cast<std::uint32_t>(random()));
      StreamSetting setting = setting_of(strategy, window);
      setting.over_long = OverLong::drop;
      StreamPacker packer(setting);
      StreamPackList packs;
      for (std::size_t begin = 0; begin < lengths.size();) {
        const std::size_t n = std::min<std::size_t>(random() % 400, lengths.size() - begin);
        append(packs, packer.push(std::span(lengths).subspan(begin, n)));
        begin += n;
      }
      append(packs, packer.finish());
      CHECK((packs == packed_at_once(setting, lengths)));
    }
  }
}

TEST_CASE("a packer made from the state of another goes on like it") {
  std::mt19937 random(7);
  for (const std::string_view strategy : strategies_of_streams()) {
    INFO(strategy);
    const Lengths lengths = with_empty_and_over_long(1500, static_cast<std::uint32_t>(random()));
    const StreamSetting setting = setting_of(strategy, 100);
    StreamPacker uninterrupted(setting);
    StreamPackList expected;
    append(expected, uninterrupted.push(lengths));
    append(expected, uninterrupted.finish());

    StreamPackList packs;
    StreamState state;
    while (state.position < lengths.size()) {
      StreamPacker packer(setting, state);
      const std::size_t n = std::min<std::size_t>(1 + random() % 170, lengths.size() - state.position);
      append(packs, packer.push(std::span(lengths).subspan(state.position, n)));
      state = packer.state();
    }
    StreamPacker last(setting, state);
    append(packs, last.finish());
    CHECK((packs == expected));
    CHECK((last.state() == uninterrupted.state()));
  }
}

TEST_CASE("no more than a window is held, half of it carried, and no sample longer than its carries") {
  for (const std::string_view strategy : strategies_of_streams()) {
    for (const std::int64_t window : {1, 2, 9, 64, 500}) {
      INFO(strategy << " " << window);
      StreamSetting setting = setting_of(strategy, window);
      setting.carry_below_fraction = 1;
      setting.most_carries = 3;
      StreamPacker packer(setting);
      std::int64_t most_held = 0;
      int most_carries = 0;
      const Lengths lengths = heavy_tailed_lengths(2000, 8, 4096);
      for (const std::int32_t length : lengths) {
        packer.push({&length, 1});
        most_held = std::max(most_held, static_cast<std::int64_t>(packer.state().held.size()));
        for (const HeldSample& sample : packer.state().held)
          most_carries = std::max(most_carries, sample.n_carries);
      }
      CHECK(most_held < window);  // the last sample of a window is packed as soon as it is there
      CHECK(most_carries <= 3);
      CHECK(packer.state().counts.most_carried_samples <= window / 2);
      packer.finish();
      // Every window takes at most `window` samples, and a sample is in at most four of them.
      CHECK(packer.state().counts.longest_delay_samples < 4 * window);
    }
  }
}

TEST_CASE("carrying fills packs better than windows alone") {
  const Lengths lengths = heavy_tailed_lengths(20000, 9, 4096);
  for (const std::string_view strategy : {"bfd", "ffd", "isf"}) {
    StreamSetting setting = setting_of(strategy, 200);
    const std::size_t n_packs = packed_at_once(setting, lengths).size();
    setting.carry_below_fraction = 0;
    CHECK(n_packs < packed_at_once(setting, lengths).size());
  }
}

TEST_CASE("after finish() a stream goes on") {
  StreamPacker packer(setting_of("bfd", 10));
  const Lengths lengths = {1000, 2000};
  packer.push(lengths);
  CHECK(packer.finish().samples == std::vector<std::uint64_t>{1, 0});
  CHECK(packer.state().held.empty());
  packer.push(lengths);
  CHECK(packer.finish().samples == std::vector<std::uint64_t>{3, 2});
  CHECK(StreamPacker(setting_of("bfd", 10)).finish().n_packs() == 0);
}

TEST_CASE("bad lengths are named by their positions in the stream, and nothing of them is taken") {
  StreamSetting setting = setting_of("bfd", 10);
  setting.over_long = OverLong::error;
  setting.empty = Empty::error;
  StreamPacker packer(setting);
  const Lengths good = {1, 2, 3};
  packer.push(good);
  const StreamState before = packer.state();
  const auto refused = [&](Lengths lengths) { return message_of([&] { packer.push(lengths); }); };
  CHECK(refused({5, 5000}) ==
        "lengths_tokens: expected lengths of at most 4096 (or another over_long policy), got 1 that are not: "
        "sample 4 has 5000");
  CHECK(refused({5, 0, 7}) ==
        "lengths_tokens: expected lengths of at least 1 (or another empty policy), got 1 that are not: "
        "sample 4 has 0");
  CHECK(refused({-1, -2, -3, -4}) ==
        "lengths_tokens: expected lengths of at least 0, got 4 that are not: sample 3 has -1, sample 4 has "
        "-2, sample 5 has -3, ...");
  CHECK((packer.state() == before));
}

TEST_CASE("settings that cannot pack a stream are refused with the reason") {
  const auto refused = [](StreamSetting setting) {
    return message_of([&] { const StreamPacker packer(setting); });
  };
  const auto of_strategy = [&](std::string_view name) { return refused(setting_of(name, 10)); };
  const std::string expected = "strategy: expected one that packs whole samples into one row, got ";
  CHECK(of_strategy("none") == expected + "\"none\", whose samples are rows of their own");
  CHECK(of_strategy("wrapped") == expected + "\"wrapped\", which cuts samples");
  CHECK(of_strategy("hbp") == expected + "\"hbp\", which takes several capacities");
  CHECK(of_strategy("trl_bfd") == expected + "\"trl_bfd\", which has windows of its own");
  CHECK(of_strategy("wlb") == expected + "\"wlb\", which forms whole iterations");
  CHECK(of_strategy("bdf").starts_with("strategy: expected one of none, random"));

  const auto with = [&](auto change) {
    StreamSetting setting = setting_of("isf", 10);
    change(setting);
    return refused(setting);
  };
  CHECK(with([](StreamSetting& s) {
          s.capacity_tokens = 0;
        }).starts_with("capacities_tokens[0]: expected 1.."));
  CHECK(with([](StreamSetting& s) { s.window_samples = 0; }) ==
        "window_samples: expected 1..4294967295, got 0");
  CHECK(with([](StreamSetting& s) { s.over_long = OverLong::split; }) ==
        "over_long: expected error, drop or truncate for a stream, got \"split\"");
  CHECK(with([](StreamSetting& s) { s.carry_below_fraction = 1.5; }) ==
        "carry_below_fraction: expected 0..1, got 1.500000");
  CHECK(with([](StreamSetting& s) { s.most_carries = -1; }) == "most_carries: expected >= 0, got -1");
  CHECK(with([](StreamSetting& s) { s.options.set("rounds", 0); }) == "rounds: expected integer in 1..1000000, got 0");
}

TEST_CASE("a state that is not one of this setting is refused") {
  StreamPacker packer(setting_of("bfd", 10));
  const Lengths lengths = {1, 2, 3};
  packer.push(lengths);
  const auto with = [&](auto change) {
    StreamState state = packer.state();
    change(state);
    return message_of([&] { const StreamPacker other(setting_of("bfd", 10), state); });
  };
  CHECK(with([](StreamState&) {}) == "nothing was refused");
  CHECK(with([](StreamState& s) { s.held.resize(10); }) ==
        "state.held: expected fewer samples than window_samples 10, got 10");
  CHECK(with([](StreamState& s) { s.held[1].sample_index = 0; }) ==
        "state.held[1].sample_index: expected at least 1 and below position 3, got 0");
  CHECK(with([](StreamState& s) { s.held[2].sample_index = 3; }) ==
        "state.held[2].sample_index: expected at least 2 and below position 3, got 3");
  CHECK(with([](StreamState& s) { s.held[0].length_tokens = 4097; }) ==
        "state.held[0].length_tokens: expected 0..4096, got 4097");
  CHECK(with([](StreamState& s) { s.held[0].n_carries = 5; }) ==
        "state.held[0].n_carries: expected 0..4, got 5");
  CHECK(with([](StreamState& s) { s.held.pop_back(); }).starts_with("state.counts: expected every sample"));
  CHECK(with([](StreamState& s) { s.held[0].length_tokens = 7; }).starts_with("state.counts: "));
}

}  // namespace packsim::testing
