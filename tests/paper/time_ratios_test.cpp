#include "validation/time_ratios.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "models/step/uncertainty.hpp"

using namespace packsim;

namespace {

ValidationRow step(const std::string& name, const std::string& job, double published, double predicted,
                   double own_error) {
  ValidationRow row;
  row.name = name;
  row.job = job;
  row.published = published;
  row.predicted = predicted;
  row.errors = TimeErrors{.shared = {{"kernels", 0.5}}, .own = own_error};
  return row;
}

double bound(const ValidationSet& set, std::size_t i) {
  return set.bounds.at(i).value;
}

}  // namespace

TEST_CASE("Ratios are those of each row to the one before it of the same job, with what both do not share") {
  const std::vector<ValidationSet> sets = {
      {.name = "steps-held-out",
       .title = "",
       .about = "",
       .rows = {step("a", "x 1", 2, 2, 0.1), step("b", "y 1", 1, 1, 0.1), step("c", "x 1", 3, 3.3, 0.1),
                step("d", "x 1", 6, 3.3, 0.1)}},
      {.name = "steps-memory", .title = "", .about = "", .rows = {step("e", "x 1", 1, 1, 0.1)}}};
  const ValidationSet ratios = validate_time_ratios(sets);
  REQUIRE(ratios.rows.size() == 2);
  CHECK(ratios.rows[0].name == "c over a");
  CHECK(ratios.rows[0].published == Approx(1.5));
  CHECK(ratios.rows[0].predicted == Approx(1.65));
  // exp(1.645 x .1 x root of 2) = 1.262.
  CHECK(ratios.rows[0].interval->high == Approx(1.65 * 1.262).epsilon(1e-3));
  CHECK(ratios.rows[0].interval->low == Approx(1.65 / 1.262).epsilon(1e-3));
  CHECK(ratios.rows[1].name == "d over c");
  CHECK(bound(ratios, 0) == Approx(0.5));  // 2 is outside 1 x 1.262
}

TEST_CASE(
    "The share of left-out errors that is a run's own is found again in ratios that were made with it") {
  // Nine of ten ratios of each source are as far off as an interval with this share reaches, and one is not.
  const auto made_with = [](double share) {
    ValidationSet set{.name = "steps-user-stacks", .title = "", .about = ""};
    const double factor = std::exp(1.6449 * 0.1 * std::sqrt(2 * share / kOwnShareOfLeftOutError));
    for (int i = 0; i < 40; ++i) {
      const std::string job = "source" + std::to_string(i % 4) + " " + std::to_string(i);
      const double off = i < 36 ? 0.999 * (factor - 1) + 1 : 1.02 * factor;
      set.rows.push_back(step("a", job, 1, 1, 0.1));
      set.rows.push_back(step("b", job, off, 1, 0.1));
    }
    return set;
  };
  CHECK(bound(validate_time_ratios({{made_with(kOwnShareOfLeftOutError)}}), 2) == Approx(0).margin(0.051));
  CHECK(bound(validate_time_ratios({{made_with(0.9)}}), 2) ==
        Approx(0.9 - kOwnShareOfLeftOutError).margin(0.051));
}
