// What a planning page takes from a recommendation.json.
#include "recommend/recommendation_points.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "recommend/recommendation_text.hpp"

using Catch::Contains;
using Catch::EndsWith;
using namespace packsim;

namespace {

const std::string kVersion = "1.2";

CandidateTimes times_in_hours(double hours) {
  return {.wall_hours = hours,
          .wall_hours_low = hours / 2,
          .wall_hours_high = 2 * hours,
          .gpu_days = hours / 3,
          .gpu_days_low = hours / 6,
          .gpu_days_high = hours,
          .money = 20 * hours,
          .money_low = 10 * hours,
          .money_high = 40 * hours};
}

const PlannedGroup kGroup{.capacity_tokens = 131072, .sequence = {.ulysses = 8, .ring = 2}, .gc_layers = 32};

Recommendation two_candidates() {
  Recommendation found;
  found.question = {.offers = {{"h100-sxm-80gb", 2.5}}, .node_counts = {1, 2}, .limits = {}};
  found.question.limits.deadline_hours = 4;
  found.candidates = {{.nodes = 1,
                       .n_gpus = 8,
                       .strategy = "isf",
                       .standing = Standing::misses,
                       .reason = "too slow",
                       .plan = candidate_plan({}, {kGroup}),
                       .times = times_in_hours(5)},
                      {.nodes = 2,
                       .n_gpus = 16,
                       .strategy = "hbp",
                       .standing = Standing::meets,
                       .plan = candidate_plan({}, {kGroup}),
                       .times = times_in_hours(2)},
                      {.nodes = 4, .n_gpus = 32, .standing = Standing::ruled_out, .reason = "too dear"}};
  found.ranking = {1};
  return found;
}

std::vector<Sensitivity> one_sensitivity() {
  return {{.what = "network cards",
           .less = {.what = "x 0.5", .settings = {}, .times = times_in_hours(3), .reason = ""},
           .more = {.what = "x 2", .settings = {}, .times = {}, .reason = "does not fit"}}};
}

}  // namespace

TEST_CASE("a recommendation gives the page its candidates, its answer and its changes") {
  const PlanningData data =
      recommendation_points("r.json", recommendation_json(two_candidates(), one_sensitivity(), kVersion));
  REQUIRE(data.points.size() == 3);
  CHECK(data.points[0].standing == PointStanding::compared);
  CHECK(data.points[1].money->high == Approx(80));
  CHECK(data.points[2].standing == PointStanding::not_simulated);
  CHECK(data.settings[1].values[1] == Value(2.0));
  CHECK(data.question ==
        "The recommendation asked for the cheapest, which takes at most 4.00 h with 90% confidence: hbp on 2 "
        "nodes of "
        "h100-sxm-80gb (16 GPUs).");
  REQUIRE(data.changes.size() == 1);
  CHECK(data.changes[0].less.ratio == Approx(1.5));  // 3 h of 2 h
  CHECK(!data.changes[0].more.ratio);
  CHECK(data.changes[0].more.reason == "does not fit");
}

TEST_CASE("a candidate that never finishes is not compared") {
  Recommendation found = two_candidates();
  found.candidates[0].times->wall_hours = std::numeric_limits<double>::infinity();
  const PlanningData data = recommendation_points("r.json", recommendation_json(found, {}, kVersion));
  CHECK(data.points[0].standing == PointStanding::failed);
  CHECK(data.points[0].reason == kNeverFinishes);
  CHECK(!data.points[0].money);
}

TEST_CASE("a recommendation without an answer is a page without changes") {
  Recommendation found = two_candidates();
  found.ranking = {};
  const PlanningData data = recommendation_points("r.json", recommendation_json(found, {}, kVersion));
  CHECK_THAT(data.question, EndsWith("no cluster keeps to that."));
  found.is_complete = false;
  CHECK_THAT(recommendation_points("r.json", recommendation_json(found, {}, kVersion)).question,
             EndsWith("no cluster keeps to that so far."));
  CHECK(data.changes.empty());
}

TEST_CASE("what is no recommendation is refused with its place") {
  const std::string good = recommendation_json(two_candidates(), one_sensitivity(), kVersion);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const auto read = [](const std::string& text) { return recommendation_points("r.json", text); };
  CHECK_THROWS_WITH(read("{}"), Contains("r.json: /format: expected 1, got nothing"));
  CHECK_THROWS_WITH(read("[1"), Contains("r.json"));
  CHECK_THROWS_WITH(read(changed("\"n_gpus\": 16", "\"n_gpus\": \"16\"")),
                    Contains("r.json: /candidates/1/n_gpus: expected number >= 0, got \"16\" (string)"));
  CHECK_THROWS_WITH(read(changed("\"standing\": \"meets\"", "\"standing\": \"fits\"")),
                    Contains("/candidates/1/standing: expected one of meets, misses"));
  CHECK_THROWS_WITH(read(changed("\"best\": 1", "\"best\": 3")), Contains("/best: expected integer in 0..2"));
}
