// Damaged, truncated and foreign files are refused with the reason, and no file can make a reader crash.

#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "plan_files/plan_view.hpp"
#include "plan_files/restore_plan.hpp"
#include "tests/plan_files/damaged_plans.hpp"
#include "tests/plan_files/made_plans.hpp"

namespace packsim::testing {
namespace {

using Catch::Contains;
using Catch::StartsWith;

std::string refusal(const Bytes& file) {
  try {
    restore_plan(PlanView::of_bytes(file, "x.plan"));
  } catch (const PlanFileError& error) {
    return error.what();
  }
  return "accepted";
}

Bytes text(std::string_view content) {
  const auto* const begin = reinterpret_cast<const std::byte*>(content.data());
  return {begin, begin + content.size()};
}

// A plan of two groups whose samples are cut, so that every section is there.
Bytes full_plan() {
  return make_plan({.strategy = "hbp",
                    .n_samples = 40,
                    .over_long = OverLong::split,
                    .longest_tokens = 150,
                    .gpus_per_pack = 2,
                    .says_loss_tokens = true})
      .bytes();
}

}  // namespace

TEST_CASE("A plan with any one bit changed is refused") {
  const Bytes file = full_plan();
  REQUIRE(refusal(file) == "accepted");
  std::mt19937 draw(1);
  for (std::size_t i = 0; i < file.size(); ++i) {
    Bytes damaged = file;
    damaged[i] ^= std::byte{1} << (draw() % 8);
    if (refusal(damaged) == "accepted") FAIL("byte " << i);
  }
}

TEST_CASE("A plan that ends early or goes on behind its end is refused") {
  const Bytes file = full_plan();
  for (std::size_t n = 0; n < file.size(); n += n < 256 ? 1 : 13)
    if (refusal(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n))) == "accepted")
      FAIL("after " << n);
  Bytes longer = file;
  longer.push_back(std::byte{0});
  CHECK_THAT(refusal(longer), Contains("something was added behind its end"));
}

TEST_CASE("Refusals say what is wrong with the file") {
  const Bytes file = full_plan();
  const auto changed = [&](const std::function<void(PlanHeader&)>& change) {
    Bytes other = file;
    PlanHeader header;
    std::memcpy(&header, other.data(), sizeof(header));
    change(header);
    std::memcpy(other.data(), &header, sizeof(header));
    return refusal(other);
  };
  const std::size_t n = file.size();
  CHECK(refusal({}) == "x.plan: header: expected a plan file, got a file of 0 other bytes");
  CHECK(refusal(text("lengths\n1\n")) ==
        "x.plan: header: expected a plan file, got a file of 10 other bytes");
  CHECK(refusal(text(std::string(100, 'a'))) ==
        "x.plan: header: expected a plan file (magic PKSMPLAN), got another kind of file");
  CHECK(refusal(Bytes(file.begin(), file.begin() + 20)) ==
        "x.plan: header: expected at least 64 bytes, got 20: the file is truncated");
  CHECK(refusal(Bytes(file.begin(), file.end() - 1)) ==
        "x.plan: header: file_bytes: expected " + std::to_string(n) + " bytes, got " + std::to_string(n - 1) +
            ": the file is truncated");
  CHECK(changed([](PlanHeader& header) { header.version = 2; }) ==
        "x.plan: header: version: expected 1, which this packsim reads, got 2");
  CHECK(changed([](PlanHeader& header) { header.endian_mark = 0x04030201; }) ==
        "x.plan: header: endian_mark: expected little-endian numbers (01020304), got 04030201");
  CHECK_THAT(changed([](PlanHeader& header) { ++header.n_sections; }), Contains("the header is damaged"));
  Bytes damaged = file;
  damaged.back() ^= std::byte{1};
  CHECK_THAT(refusal(damaged),
             StartsWith("x.plan: header: content_hash: expected ") && Contains(": the file is damaged"));
}

TEST_CASE("A file with true hashes and false numbers is refused with the place") {
  struct Row {
    const char* expected;
    std::function<void(Bytes&)> damage;
  };
  namespace sections = plan_sections;
  const auto facts = [](const char* from, const char* to) {
    return [=](Bytes& file) { replace_in_facts(file, from, to); };
  };
  const auto rename = [](std::string_view name) {
    return [=](Bytes& file) { section_of(file, name).name[0] = 'X'; };
  };
  const auto fewer = [](std::string_view name) {
    return [=](Bytes& file) { resize_section(file, name, section_of(file, name).n_elements - 1); };
  };
  const std::vector<Row> rows = {
      {"section groups: expected one in the file, got none", rename(sections::kGroups)},
      {"section placed: expected one in the file, got none", rename(sections::kPlaced)},
      {"section lengths_tokens: expected one in the file, got none", rename(sections::kLengths)},
      {"section weights: expected elements of 8 bytes, got 4",
       [](Bytes& file) {
         PlanSection& section = section_of(file, sections::kWeights);
         section.element_bytes = 4;
         section.n_elements *= 2;
       }},
      {"section pack_items: expected one inside the file, got one outside",
       [](Bytes& file) { section_of(file, sections::kPackItems).n_elements = ~std::uint64_t{0}; }},
      {"section pack_items: expected one inside the file, got one outside",
       [](Bytes& file) { section_of(file, sections::kPackItems).offset_bytes += 8; }},
      {"section facts: expected one inside the file, got one outside",
       [](Bytes& file) { section_of(file, sections::kFacts).element_bytes = 0; }},
      {"header: n_sections: expected as many as there is room for, and at most 1024, got ",
       [](Bytes& file) { reinterpret_cast<PlanHeader*>(file.data())->n_sections = 1U << 30; }},
      {"facts: expected a JSON object, got something else", facts("{", " ")},
      {"facts: /strategy: expected a strategy of this packsim (see packsim list strategies), got \"hbq\"",
       facts("\"hbp\",\n  \"scenario\"", "\"hbq\",\n  \"scenario\"")},
      {"facts: /n_gpus: expected integer in 0..2147483647, got -4",
       facts("\"n_gpus\": 4,", "\"n_gpus\":-4,")},
      {"facts: /n_gpus: expected integer in 0..2147483647, got 4.0",
       facts("\"n_gpus\": 4,\n", "\"n_gpus\":4.0,")},
      {"facts: /n_samples: expected 0..", facts("\"n_samples\": 40", "\"n_samples\": 4294967297")},
      {"facts: /epochs: expected 1..65536, got 0", facts("\"epochs\": 2", "\"epochs\": 0")},
      {"iterations: expected a multiple of 7 epochs, got ", facts("\"epochs\": 2", "\"epochs\": 7")},
      {"facts: /shuffle: expected true or false, got 1", facts("\"shuffle\": true", "\"shuffle\": 1")},
      {"facts: /seed: expected a value, got none", facts("\"seed\"", "\"seat\"")},
      {"facts: /order: expected one of as_packed, neighbours, shuffled, balanced, got \"shufflep\"",
       facts("\"balanced\"", "\"shufflep\"")},
      {"facts: /name: expected text, got 12345", facts("\"name\": \"hbp\"", "\"name\": 12345")},
      {"groups.capacity_tokens[1]: expected 1..16777216, got 0",
       [](Bytes& file) { element<PlanGroup>(file, sections::kGroups, 1).capacity_tokens = 0; }},
      {"groups.first_pack[1]: expected ",
       [](Bytes& file) { ++element<PlanGroup>(file, sections::kGroups, 1).first_pack; }},
      {"groups.sp_degree * cp_degree[0]: expected a divisor of 4 GPUs, got 3",
       [](Bytes& file) { element<PlanGroup>(file, sections::kGroups, 0).sp_degree = 3; }},
      {"groups.sp_degree * cp_degree[0]: expected a divisor of 4 GPUs, got 0",
       [](Bytes& file) { element<PlanGroup>(file, sections::kGroups, 0).cp_degree = 0; }},
      {"groups.gc_layers[0]: expected 0..65536 layers, got 4294967295",
       [](Bytes& file) { element<PlanGroup>(file, sections::kGroups, 0).gc_layers = ~0U; }},
      {"groups.micro_batches_per_rank[0]: expected 1..65536, got 0",
       [](Bytes& file) { element<PlanGroup>(file, sections::kGroups, 0).micro_batches_per_rank = 0; }},
      {"pack_offsets: expected ",
       [](Bytes& file) { ++element<PlanGroup>(file, sections::kGroups, 1).n_packs; }},
      {"pack_offsets[0]: expected 0, got 1",
       [](Bytes& file) { element<std::uint64_t>(file, sections::kPackOffsets, 0) = 1; }},
      {"pack_offsets[2]: expected more than the one before, got 0",
       [](Bytes& file) { element<std::uint64_t>(file, sections::kPackOffsets, 2) = 0; }},
      {"pack_items[3]: expected an item of ",
       [](Bytes& file) { element<std::uint32_t>(file, sections::kPackItems, 3) = 100000; }},
      {"pack_items[1]: expected an item that is in no other pack, got ",
       [](Bytes& file) {
         element<std::uint32_t>(file, sections::kPackItems, 1) =
             element<std::uint32_t>(file, sections::kPackItems, 0);
       }},
      {"lengths_tokens[5]: expected >= 0, got -1",
       [](Bytes& file) { element<std::int32_t>(file, sections::kLengths, 5) = -1; }},
      {"loss_tokens[4]: expected 0 to the item's length, got -7",
       [](Bytes& file) { element<std::int32_t>(file, sections::kLossTokens, 4) = -7; }},
      {"loss_tokens[4]: expected 0 to the item's length, got 1000",
       [](Bytes& file) { element<std::int32_t>(file, sections::kLossTokens, 4) = 1000; }},
      {"loss_tokens: expected ", fewer(sections::kLossTokens)},
      {"piece_starts: expected ", rename(sections::kPieceStarts)},
      {"piece_samples[2]: expected a sample of 40, got 40",
       [](Bytes& file) { element<std::uint32_t>(file, sections::kPieceSamples, 2) = 40; }},
      {"piece_starts[2]: expected a token that a sample can have, got 2147483647",
       [](Bytes& file) { element<std::int32_t>(file, sections::kPieceStarts, 2) = 2147483647; }},
      {"weights[0]: expected finite and >= 0, got -1",
       [](Bytes& file) { element<double>(file, sections::kWeights, 0) = -1; }},
      {"weights[0]: expected finite and >= 0, got nan",
       [](Bytes& file) { element<double>(file, sections::kWeights, 0) = std::nan(""); }},
      {"weights: expected ", fewer(sections::kWeights)},
      {"iterations[1]: expected packs of ",
       [](Bytes& file) { element<PlanIteration>(file, sections::kIterations, 1).first_placed = 1000; }},
      {"iterations[0]: expected packs of ",
       [](Bytes& file) { element<PlanIteration>(file, sections::kIterations, 0).n_placed = 0; }},
      {"placed[", [](Bytes& file) { ++element<PlanIteration>(file, sections::kIterations, 0).first_placed; }},
      {"placed.group[0]: expected one of 2, got 2",
       [](Bytes& file) { element<PlanPlacedPack>(file, sections::kPlaced, 0).group = 2; }},
      {"placed.pack[0]: expected one of ",
       [](Bytes& file) { element<PlanPlacedPack>(file, sections::kPlaced, 0).pack = 1000; }},
      {"placed.first_gpu[0]: expected a multiple of 2 below 4, got 1",
       [](Bytes& file) { element<PlanPlacedPack>(file, sections::kPlaced, 0).first_gpu = 1; }},
      {"placed.first_gpu[0]: expected a multiple of 2 below 4, got 4",
       [](Bytes& file) { element<PlanPlacedPack>(file, sections::kPlaced, 0).first_gpu = 4; }},
      {"placed.flags[0]: expected 0 or 1, got 2",
       [](Bytes& file) { element<PlanPlacedPack>(file, sections::kPlaced, 0).flags = 2; }},
      {"placed[1]: expected a GPU without another pack in the round, got 0",
       [](Bytes& file) { element<PlanPlacedPack>(file, sections::kPlaced, 1).first_gpu = 0; }},
      {"placed.round[1]: expected rounds ascending, got 0",
       [](Bytes& file) { element<PlanPlacedPack>(file, sections::kPlaced, 0).round = 1; }},
  };
  const Bytes whole = full_plan();
  for (const Row& row : rows) {
    Bytes file = whole;
    row.damage(file);
    rehash(file);
    CAPTURE(row.expected);
    CHECK_THAT(refusal(file), Contains(row.expected));
  }
}

TEST_CASE("Samples that are in no pack and not counted are missed") {
  Bytes file = make_plan({}).bytes();
  // One item fewer in the last pack.
  const std::size_t n_items = section_of(file, plan_sections::kPackItems).n_elements;
  const auto item = element<std::uint32_t>(file, plan_sections::kPackItems, n_items - 1);
  const auto length = element<std::int32_t>(file, plan_sections::kLengths, item);
  resize_section(file, plan_sections::kPackItems, n_items - 1);
  const std::size_t n_packs = section_of(file, plan_sections::kPackOffsets).n_elements - 1;
  auto& last = element<std::uint64_t>(file, plan_sections::kPackOffsets, n_packs);
  REQUIRE(--last > element<std::uint64_t>(file, plan_sections::kPackOffsets, n_packs - 1));
  rehash(file);
  CHECK_THAT(refusal(file),
             Contains("x.plan: facts: /dropped_samples: expected 1, the samples in no pack, got 0\n"
                      "x.plan: facts: /dropped_tokens: expected " +
                      std::to_string(length) + ", the tokens of samples in no pack, got 0"));
}

TEST_CASE("Several mistakes come at once") {
  Bytes file = full_plan();
  replace_in_facts(file, "\"seed\"", "\"seat\"");
  replace_in_facts(file, "\"epochs\": 2", "\"epochs\":-2");
  rehash(file);
  const std::string refused = refusal(file);
  CHECK_THAT(refused, Contains("/seed") && Contains("/epochs"));
  file = full_plan();
  element<std::int32_t>(file, plan_sections::kLengths, 5) = -1;
  element<std::uint64_t>(file, plan_sections::kPackOffsets, 0) = 1;
  rehash(file);
  CHECK_THAT(refusal(file), Contains("pack_offsets[0]") && Contains("lengths_tokens[5]"));
}

TEST_CASE("Whatever is written into a plan, it is refused or can be read to the last element") {
  std::mt19937 draw(5);
  const std::vector<Bytes> plans = {full_plan(), make_plan({.strategy = "wlb"}).bytes()};
  int n_accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Bytes file = plans[draw() % plans.size()];
    for (auto n = 1 + draw() % 3; n > 0; --n) {
      const std::size_t at = sizeof(PlanHeader) + draw() % (file.size() - sizeof(PlanHeader));
      file[at] = draw() % 2 == 0 ? static_cast<std::byte>(draw()) : std::byte{0};
    }
    rehash(file);
    try {
      const PlanView plan = PlanView::of_bytes(file);
      double sum = 0;
      for (const PlanIteration& iteration : plan->iterations) {
        for (const PlanPlacedPack& placed : plan->packs(iteration)) {
          for (const std::uint32_t item : plan->items(placed)) sum += plan->lengths_tokens[item];
        }
      }
      CHECK(sum >= 0);
      restore_plan(plan);
      ++n_accepted;
    } catch (const PlanFileError&) {
      continue;
    }
  }
  CHECK(n_accepted > 0);  // some changes are harmless, such as of a weight
}

}  // namespace packsim::testing
