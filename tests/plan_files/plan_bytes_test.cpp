// What a schedule file gets of a plan, and how its bytes lie.

#include <catch2/catch.hpp>

#include "packing/loss/loss_weights.hpp"
#include "plan_files/plan_bytes.hpp"
#include "plan_files/restore_plan.hpp"
#include "tests/plan_files/damaged_plans.hpp"
#include "tests/plan_files/made_plans.hpp"

namespace packsim::testing {
namespace {

// Adds sections that no reader knows, without elements, to the table; what lies behind it begins later.
Bytes with_more_sections(const Bytes& whole, std::size_t n_sections) {
  PlanHeader header;
  std::memcpy(&header, whole.data(), sizeof(header));
  const std::size_t n_more = n_sections - header.n_sections;
  const auto table_end =
      static_cast<std::ptrdiff_t>(sizeof(PlanHeader) + header.n_sections * sizeof(PlanSection));
  Bytes file = whole;
  file.insert(file.begin() + table_end, n_more * sizeof(PlanSection), std::byte{});
  auto* const sections = reinterpret_cast<PlanSection*>(file.data() + sizeof(PlanHeader));
  for (std::size_t i = 0; i < header.n_sections; ++i)
    sections[i].offset_bytes += n_more * sizeof(PlanSection);
  for (std::size_t i = header.n_sections; i < n_sections; ++i) {
    const std::string name = "later " + std::to_string(i);
    std::ranges::copy(name, sections[i].name.begin());
    sections[i].element_bytes = 1;
  }
  header.n_sections = n_sections;
  std::memcpy(file.data(), &header, sizeof(header));
  rehash(file);
  return file;
}

}  // namespace

TEST_CASE("Version 1 of the format puts a plan into the bytes that it always did") {
  // All that the hash is of: the table of sections, and every section (docs/plan_files.md).
  const auto hash_of = [](const MakePlan& how) {
    return PlanView::of_bytes(make_plan(how).bytes()).content_hash();
  };
  CHECK(hash_of({}) == 0x5798a87e6f3a6b7f);
  CHECK(hash_of({.strategy = "hbp",
                 .over_long = OverLong::split,
                 .longest_tokens = 150,
                 .gpus_per_pack = 2,
                 .says_loss_tokens = true}) == 0xc1cc354f5362594a);
}

TEST_CASE("Each section begins at the first multiple of 64 bytes behind the one before it") {
  for (int n_letters = 0; n_letters < 64; ++n_letters) {
    MadePlan made = make_plan({.n_samples = 8});
    made.facts.scenario.assign(static_cast<std::size_t>(n_letters), 'a');
    Bytes file = made.bytes();
    std::uint64_t end = sizeof(PlanHeader) + 8 * sizeof(PlanSection);
    for (const std::string_view name :
         {plan_sections::kFacts, plan_sections::kGroups, plan_sections::kIterations, plan_sections::kPlaced,
          plan_sections::kWeights, plan_sections::kPackOffsets, plan_sections::kPackItems,
          plan_sections::kLengths}) {
      const PlanSection& section = section_of(file, name);
      CHECK(section.offset_bytes % 64 == 0);
      CHECK(section.offset_bytes >= end);
      CHECK(section.offset_bytes < end + 64);
      end = section.offset_bytes + section.n_elements * section.element_bytes;
    }
    CHECK(file.size() == end);
    CHECK(PlanView::of_bytes(file)->facts.scenario == made.facts.scenario);
  }
}

TEST_CASE("A plan may have up to 1024 sections, of which readers ignore those that they do not know") {
  const Bytes whole = make_plan({}).bytes();
  const Bytes more = with_more_sections(whole, 1024);
  const PlanView plan = PlanView::of_bytes(more);
  CHECK(std::ranges::equal(plan->weights, PlanView::of_bytes(whole)->weights));
  plan.check();
  CHECK_THROWS_WITH(
      PlanView::of_bytes(with_more_sections(whole, 1025)),
      "plan: header: n_sections: expected as many as there is room for, and at most 1024, got 1025");
}

TEST_CASE("A plan has the name that it was given, else that of its strategy") {
  MadePlan made = make_plan({});
  CHECK(PlanView::of_bytes(made.bytes())->facts.name == "bfd");
  made.facts.name = "mine";
  const PlanView plan = PlanView::of_bytes(made.bytes());
  CHECK(plan->facts.name == "mine");
  CHECK(plan->facts.strategy == "bfd");
}

TEST_CASE("A plan that names no normaliser has the weights of stable, and says so") {
  MadePlan made = make_plan({});
  const Bytes stable = made.bytes();
  made.facts.normaliser.clear();
  CHECK(made.bytes() == stable);
}

TEST_CASE("Packs on several GPUs are divided by Ulysses, unless the plan says how") {
  const MadePlan made = make_plan({.gpus_per_pack = 4});
  const auto sequence_of = [](const Bytes& file) {
    const PlanView plan = PlanView::of_bytes(file);
    const auto sequence = restore_plan(plan).sequence;
    REQUIRE(sequence.size() == 1);
    return std::pair(sequence[0].ulysses, sequence[0].ring);
  };
  CHECK(sequence_of(made.bytes()) == std::pair(4, 1));
  PlanContent content = made.content();
  const std::vector<SequenceParallelism> both = {{.ulysses = 2, .ring = 2}};
  content.sequence = both;
  CHECK(sequence_of(plan_bytes(content)) == std::pair(2, 2));
  const std::vector<SequenceParallelism> fewer = {{.ulysses = 2, .ring = 1}};
  content.sequence = fewer;
  CHECK_THROWS_WITH(plan_bytes(content), "sequence: expected as many GPUs as the schedule gives a pack");
}

TEST_CASE("A plan with another normaliser is what it would have been with that one") {
  for (const bool says_loss_tokens : {false, true}) {
    MadePlan made = make_plan({.strategy = "hbp",
                               .over_long = OverLong::split,
                               .longest_tokens = 150,
                               .says_loss_tokens = says_loss_tokens});
    const PlanView plan = PlanView::of_bytes(made.bytes(), "a.plan");
    for (const Normaliser& normaliser : normalisers()) {
      made.facts.normaliser = normaliser.name;
      CHECK(plan_bytes_with_normaliser(plan, normaliser.name) == made.bytes());
    }
    CHECK_THROWS_AS(plan_bytes_with_normaliser(plan, "mean"), std::invalid_argument);
    made.facts.normaliser = "mean";
    CHECK_THROWS_AS(made.bytes(), std::invalid_argument);
  }
}

TEST_CASE("A plan that is wrong is refused with each mistake on a line, and gets no other normaliser") {
  Bytes file = make_plan({}).bytes();
  replace_in_facts(file, "\"dropped_packs\": 0", "\"dropped_packs\": 3");
  replace_in_facts(file, "\"split_samples\": 0", "\"split_samples\": 7");
  rehash(file);
  const PlanView plan = PlanView::of_bytes(file);
  const std::string expected =
      "plan: facts: /split_samples: expected 0, as no sample is cut, got 7\n"
      "plan: facts: /dropped_packs: expected 0, the packs that are not trained, over all epochs, got 3";
  CHECK_THROWS_WITH(plan.check(), expected);
  CHECK_THROWS_WITH(plan.check(), expected);  // as often as it is asked
  CHECK_THROWS_WITH(plan_bytes_with_normaliser(plan, "sum"), expected);
}

TEST_CASE("A plan and its copies are checked once") {
  const PlanView plan = PlanView::of_bytes(make_plan({}).bytes());
  const PlanView copy = plan;
  plan.check();
  // What check() would refuse, in the bytes that both views share.
  const_cast<double&>(copy->weights[0]) /= 2;
  copy.check();
  plan.check();
  CHECK_THROWS_AS(PlanView::of_bytes(Bytes(copy.bytes().begin(), copy.bytes().end())), PlanFileError);
}

}  // namespace packsim::testing
