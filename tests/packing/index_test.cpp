// The two search structures behind the packers, against the plainest thing that gives the same answer.

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "packing/algorithms/first_fit_tree.hpp"
#include "packing/algorithms/free_space_index.hpp"

namespace packsim::testing {
namespace {

std::size_t first_by_scan(const std::vector<std::int32_t>& values, std::int32_t wanted, std::size_t from) {
  for (std::size_t i = from; i < values.size(); ++i) {
    if (values[i] >= wanted) return i;
  }
  return FirstFitTree::kNone;
}

std::int64_t at_least(const std::set<std::int64_t>& set, std::int64_t value) {
  const auto it = set.lower_bound(value);
  return it == set.end() ? IntegerSet::kNone : *it;
}

std::int64_t at_most(const std::set<std::int64_t>& set, std::int64_t value) {
  const auto it = set.upper_bound(value);
  return it == set.begin() ? IntegerSet::kNone : *std::prev(it);
}

}  // namespace

TEST_CASE("FirstFitTree finds what a scan from the front finds") {
  std::mt19937 generator(1);
  // Around the sizes at which a level of 16 children fills up.
  for (const std::size_t n : {1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097}) {
    std::vector<std::int32_t> values(n, 100);
    FirstFitTree tree(n, 100);
    bool same = tree.size() == n;
    for (int step = 0; step < 3000; ++step) {
      const std::size_t slot = generator() % n;
      const auto value = static_cast<std::int32_t>(generator() % 101);
      values[slot] = step % 7 == 0 ? FirstFitTree::kEmpty : value;
      tree.set(slot, values[slot]);
      const auto wanted = static_cast<std::int32_t>(generator() % 102);
      const std::size_t from = generator() % (n + 1);
      same = same && tree.find(wanted, from) == first_by_scan(values, wanted, from) &&
             tree.find(wanted) == first_by_scan(values, wanted, 0) && tree.value(slot) == values[slot];
      if (step % 50 == 0) same = same && tree.largest() == *std::max_element(values.begin(), values.end());
    }
    INFO(n);
    CHECK(same);
  }
}

TEST_CASE("FirstFitTree built from values finds what one filled by hand finds") {
  std::mt19937 generator(2);
  std::vector<std::int32_t> values(1000);
  for (std::int32_t& value : values)
    value = -static_cast<std::int32_t>(generator() % 5000);  // greedy fill's use
  const FirstFitTree tree(values);
  bool same = true;
  for (std::int32_t wanted = -5001; wanted <= 1; ++wanted) {
    const std::size_t from = generator() % values.size();
    same = same && tree.find(wanted, from) == first_by_scan(values, wanted, from);
  }
  CHECK(same);
}

TEST_CASE("FirstFitTree without slots finds nothing") {
  const FirstFitTree tree(0);
  CHECK(tree.size() == 0);
  CHECK(tree.largest() == FirstFitTree::kEmpty);
  CHECK(tree.find(0) == FirstFitTree::kNone);
}

TEST_CASE("a full tree never offers an empty slot, whatever is asked for") {
  FirstFitTree tree(20, FirstFitTree::kEmpty);
  CHECK(tree.find(0) == FirstFitTree::kNone);
  CHECK(tree.find(-(1 << 24)) == FirstFitTree::kNone);
}

TEST_CASE("IntegerSet finds the neighbours that std::set finds") {
  std::mt19937 generator(3);
  // Around the sizes at which a word, or a level of 64 words, fills up.
  for (const std::int64_t capacity :
       {1, 2, 62, 63, 64, 65, 127, 128, 4094, 4095, 4096, 4097, 131072, 262144}) {
    IntegerSet set(capacity);
    std::set<std::int64_t> expected;
    const auto draw = [&] {
      return static_cast<std::int64_t>(generator() % static_cast<std::uint32_t>(capacity + 1));
    };
    bool same = true;
    for (int step = 0; step < 4000; ++step) {
      const std::int64_t value = draw();
      // First mostly in, then mostly out, so that the set is dense, sparse and empty in turn.
      if (generator() % 4 < (step < 2000 ? 3U : 1U)) {
        set.insert(value);
        expected.insert(value);
      } else {
        set.erase(value);
        expected.erase(value);
      }
      const std::int64_t asked = draw();
      same = same && set.contains(asked) == expected.contains(asked) &&
             set.smallest_at_least(asked) == at_least(expected, asked) &&
             set.largest_at_most(asked) == at_most(expected, asked);
    }
    for (const std::int64_t value :
         {std::int64_t{-5}, std::int64_t{0}, capacity, capacity + 1, capacity + 1000}) {
      same = same && set.smallest_at_least(value) == at_least(expected, value) &&
             set.largest_at_most(value) == at_most(expected, value);
    }
    INFO(capacity);
    CHECK(same);
  }
}

TEST_CASE("packs of equal free space leave the index in the order in which they came to it") {
  std::mt19937 generator(4);
  constexpr std::int64_t kCapacity = 50;
  FreeSpaceIndex index(kCapacity);
  std::map<std::int64_t, std::deque<std::uint32_t>> expected;
  std::uint32_t n_packs = 0;
  bool same = true;
  for (int step = 0; step < 20000; ++step) {
    const auto wanted = static_cast<std::int64_t>(generator() % kCapacity) + 1;
    const auto best = expected.lower_bound(wanted);
    const std::int64_t room = index.best_fit(wanted);
    same = same && room == (best == expected.end() ? IntegerSet::kNone : best->first);
    if (!same) break;
    std::uint32_t pack = n_packs;
    std::int64_t left = kCapacity - wanted;
    if (room == IntegerSet::kNone) {
      ++n_packs;
    } else {
      pack = index.pop(room);
      same = pack == best->second.front();
      best->second.pop_front();
      if (best->second.empty()) expected.erase(best);
      left = room - wanted;
    }
    if (left == 0) continue;
    index.insert(pack, left);
    expected[left].push_back(pack);
  }
  CHECK(same);
  CHECK(n_packs > 1000);
}

}  // namespace packsim::testing
