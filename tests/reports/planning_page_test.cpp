// The data behind the planning page: the front, the verdict, reasons, and that texts stay texts.
#include "reports/planning/planning_page.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "reports/planning/planning_front.hpp"
#include "reports/planning/planning_json.hpp"
#include "reports/planning/planning_verdict.hpp"

using Catch::Contains;
using namespace packsim;

namespace {

PlanningPoint compared_point(double hours, double gpu_days) {
  return {.number = 0,
          .strategy = "hbp",
          .standing = PointStanding::compared,
          .reason = "",
          .n_gpus = 8,
          .hours = PlanningAmount{hours, 0.9 * hours, 1.1 * hours},
          .gpu_days = PlanningAmount{gpu_days, 0.9 * gpu_days, 1.1 * gpu_days},
          .money = {}};
}

PlanningPoint point_with_money(double hours, double money) {
  PlanningPoint point = compared_point(hours, 1);
  point.money = PlanningAmount{money, 0.9 * money, 1.1 * money};
  return point;
}

PlanningPoint point_without_run(PointStanding standing, const std::string& reason) {
  PlanningPoint point;
  point.standing = standing;
  point.reason = reason;
  return point;
}

PlanningData data_of(std::vector<PlanningPoint> points) {
  PlanningData data{.title = "job",
                    .source = "",
                    .points = std::move(points),
                    .settings = {},
                    .further = {},
                    .question = "",
                    .limits = {},
                    .changes = {}};
  for (std::size_t i = 0; i < data.points.size(); ++i) data.points[i].number = static_cast<std::int64_t>(i);
  return data;
}

// What the front is by its definition, each point against each other.
std::vector<std::size_t> front_by_definition(const PlanningData& data) {
  const CostKind kind = cost_of(data);
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < data.points.size(); ++i) {
    if (data.points[i].standing != PointStanding::compared) continue;
    const double hours = data.points[i].hours->value;
    const double cost = *cost_of(data.points[i], kind);
    bool is_beaten = false;
    for (const PlanningPoint& other : data.points) {
      if (other.standing != PointStanding::compared) continue;
      const double other_hours = other.hours->value;
      const double other_cost = *cost_of(other, kind);
      is_beaten = is_beaten ||
                  (other_hours <= hours && other_cost <= cost && (other_hours < hours || other_cost < cost));
    }
    if (!is_beaten) front.push_back(i);
  }
  return front;
}

}  // namespace

TEST_CASE("no point beats the cheapest or the fastest of random points") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t n_points = random() % 60;
    const std::uint64_t n_values = 1 + random() % 40;  // few values make many equal ones
    std::vector<PlanningPoint> points;
    for (std::uint64_t i = 0; i < n_points; ++i) {
      points.push_back(point_with_money(1 + static_cast<double>(random() % n_values),
                                        1 + static_cast<double>(random() % n_values)));
      if (random() % 5 == 0) points.back().standing = PointStanding::other_job;
    }
    const PlanningData data = data_of(std::move(points));
    const std::vector<std::size_t> front = front_by_definition(data);
    if (front.empty()) continue;
    CHECK(std::ranges::find(front, *cheapest_point(data)) != front.end());
    CHECK(std::ranges::find(front, *fastest_point(data)) != front.end());
  }
}

TEST_CASE("points are compared by GPU-days where one of them has no price") {
  PlanningData data = data_of({point_with_money(1, 10), point_with_money(2, 5)});
  CHECK(cost_of(data) == CostKind::money);
  data.points.push_back(compared_point(3, 0.5));
  CHECK(cost_of(data) == CostKind::gpu_days);
  CHECK(cheapest_point(data) == 2);
  // What is not compared has no say.
  data.points.back().standing = PointStanding::other_job;
  CHECK(cost_of(data) == CostKind::money);
  CHECK(cheapest_point(data) == 1);
}

TEST_CASE("the verdict and the page's first filters keep to the limits of the question") {
  // The upper ends of the hours are 4.4, 2.2 and 1.1, those of the money 11, 22 and 55.
  PlanningData data = data_of({point_with_money(4, 10), point_with_money(2, 20), point_with_money(1, 50)});
  CHECK(cheapest_point(data) == 0);
  data.limits.hours = 2.2;
  CHECK(cheapest_point(data) == 1);
  CHECK(fastest_point(data) == 2);
  CHECK_THAT(planning_verdict(data).best,
             Catch::StartsWith("The cheapest that keeps to at most 2.20 h with 90% confidence is hbp"));
  data.limits.money = 22;
  CHECK(fastest_point(data) == 1);
  const nlohmann::json json = nlohmann::json::parse(planning_json(data));
  CHECK(json["limits"] == nlohmann::json{{"@hours", 2.2}, {"@money", 22}});
  data.limits.hours = 1;
  CHECK_FALSE(cheapest_point(data));
  CHECK(planning_verdict(data).best ==
        "No point fits and trains the job that was asked for, and keeps to at most 1.00 h and 22.0 of money "
        "with 90% confidence.");
  data.limits = {.n_gpus = 4};
  CHECK_FALSE(cheapest_point(data));
}

TEST_CASE("the verdict names the cheapest and the fastest of those that are compared") {
  PlanningData data = data_of({point_with_money(4, 20), point_with_money(1, 50), point_with_money(0.1, 1)});
  data.points[2].standing = PointStanding::other_job;
  data.points[2].reason = "iterations train 1,024 tokens";
  data.points[1].strategy = "planner";
  data.settings.push_back({.key = "cluster.nodes",
                           .title = "cluster.nodes",
                           .unit = "",
                           .values = {std::int64_t{1}, std::int64_t{4}, std::int64_t{9}}});
  const PlanningVerdict verdict = planning_verdict(data);
  CHECK(verdict.best ==
        "The cheapest is hbp on 8 GPUs, cluster.nodes 1: it takes 4.00 h (90%: 3.60 to 4.40), 1.00 GPU-days, "
        "and "
        "costs 20.0 (90%: 18.0 to 22.0). The fastest is planner on 8 GPUs, cluster.nodes 4: it takes 1.00 h "
        "(90%: 0.900 to 1.10), 1.00 GPU-days, and costs 50.0 (90%: 45.0 to 55.0).");
  CHECK(verdict.counts == "3 points: 2 compared, 1 trains another job.");
  CHECK(verdict.reasons == std::vector<std::string>{"1 x trains another job: iterations train 1,024 tokens"});
}

TEST_CASE("a verdict on no comparable point says so") {
  const PlanningVerdict verdict =
      planning_verdict(data_of({point_without_run(PointStanding::refused, "mistake 1\nmistake 2")}));
  CHECK(verdict.best == "No point fits and trains the job that was asked for.");
  CHECK(verdict.reasons == std::vector<std::string>{"1 x refused: mistake 1"});
}

TEST_CASE("reasons that differ in their numbers are one, and the most frequent is first") {
  const PlanningData data =
      data_of({point_without_run(PointStanding::failed, "no packs"), compared_point(1, 1),
               point_without_run(PointStanding::does_not_fit, "group 128K needs 92.1 of 80.0 GiB"),
               point_without_run(PointStanding::does_not_fit, "group 64K needs 1,081 of 80.0 GiB"),
               point_without_run(PointStanding::failed, "group 64K needs 81 of 80.0 GiB")});
  const std::vector<ReasonClass> classes = reason_classes(data);
  REQUIRE(classes.size() == 3);
  CHECK(classes[0].points == std::vector<std::size_t>{2, 3});
  CHECK(classes[0].example == "group 128K needs 92.1 of 80.0 GiB");
  CHECK(classes[1].points == std::vector<std::size_t>{0});
  CHECK(classes[2].points == std::vector<std::size_t>{4});
}

TEST_CASE("columns are written as lists, texts and few values as indices") {
  std::vector<PlanningPoint> points;
  for (int i = 0; i < 100; ++i) points.push_back(compared_point(1 + i / 3.0, 2));
  const auto json = nlohmann::json::parse(planning_json(rounded(data_of(std::move(points)))));
  CHECK(json["n_points"] == 100);
  CHECK(json["cost"] == "@gpu_days");
  for (const auto& column : json["columns"]) {
    if (column["key"] == "@hours") CHECK(column["numbers"][1] == 1.33333);  // 4/3 to six digits
    if (column["key"] == "@gpu_days") {
      CHECK(column["values"] == nlohmann::json::array({2}));
      CHECK(!column.contains("codes"));  // all points have the one value
    }
    if (column["key"] == "@money") CHECK(column["values"] == nlohmann::json::array({nullptr}));
  }
}

TEST_CASE("texts of the data are no markup on the page and end no script") {
  const std::string hostile = "</script><script>document.title='owned'</script><!--\u202e\x1b\"'&";
  PlanningPoint bad = point_without_run(PointStanding::failed, hostile);
  bad.strategy = hostile;
  PlanningPoint good = compared_point(1, 1);
  good.strategy = hostile;
  PlanningData data = data_of({good, bad});
  data.title = hostile;
  data.source = hostile;
  data.question = hostile;
  data.settings.push_back({.key = hostile, .title = hostile, .unit = hostile, .values = {hostile, Value()}});
  data.changes.push_back({.what = hostile, .less = {hostile, 0.5, hostile}, .more = {hostile, {}, hostile}});
  const std::string page = planning_page(data);
  CHECK_THAT(page, !Contains("<script>document"));
  CHECK_THAT(page, !Contains("\u202e"));
  CHECK_THAT(page, !Contains("\x1b"));
  CHECK_THAT(page, Contains("&lt;script&gt;document"));
  const std::string opening = R"(<script type="application/json" id="planning">)";
  const std::size_t start = page.find(opening) + opening.size();
  const std::string points = page.substr(start, page.find("</script>", start) - start);
  CHECK(points.find('<') == std::string::npos);
  CHECK(nlohmann::json::parse(points)["n_points"] == 2);
}
