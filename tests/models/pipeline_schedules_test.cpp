#include "models/pipeline/pipeline_schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "models/memory/stages.hpp"

namespace packsim {
namespace {

using Catch::Contains;

// The usual schedule of so many chunks a stage.
std::vector<PipelinePass> usual_order(int n_stages, int stage, int chunks_per_stage, int n_micro_batches) {
  return pipeline_order(usual_schedule(chunks_per_stage), {n_stages, chunks_per_stage, n_micro_batches},
                        stage);
}

// Pipelines of 1 to 6 stages that the schedule allows.
std::vector<PipelineShape> shapes_of(const PipelineSchedule& schedule) {
  std::vector<PipelineShape> shapes;
  for (int p = 1; p <= 6; ++p) {
    for (int v = schedule.fewest_chunks; v <= std::min(schedule.most_chunks, 4); ++v) {
      for (int m = 0; m <= 13; ++m) {
        if (!schedule.needs_full_rounds || m % p == 0) shapes.push_back({p, v, m});
      }
    }
  }
  return shapes;
}

// Calls visit(schedule, shape, stage) for every stage of pipelines of every schedule of the table.
template <typename Visit>
void for_each_stage(Visit visit) {
  for (const PipelineSchedule* schedule : pipeline_schedules()) {
    const std::vector<PipelineShape> shapes = shapes_of(*schedule);
    REQUIRE(shapes.size() > 24);
    for (const PipelineShape& shape : shapes) {
      for (int stage = 0; stage < shape.n_stages; ++stage) {
        CAPTURE(schedule->name, shape.n_stages, shape.chunks_per_stage, shape.n_micro_batches, stage);
        visit(*schedule, shape, stage);
      }
    }
  }
}

std::string text(const std::vector<PipelinePass>& order) {
  std::string text;
  for (const PipelinePass& pass : order) {
    text += text.empty() ? "" : " ";
    text += (pass.is_forward ? "F" : "B") + std::to_string(pass.micro_batch);
    if (pass.chunk > 0) text += std::string(static_cast<std::size_t>(pass.chunk), '\'');
  }
  return text;
}

TEST_CASE("The orders that the papers draw") {
  // PipeDream-Flush's 1F1B with 4 stages and 5 micro-batches.
  CHECK(text(usual_order(4, 0, 1, 5)) == "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4");
  CHECK(text(usual_order(4, 2, 1, 5)) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
  CHECK(text(usual_order(4, 3, 1, 5)) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  // Interleaved, 2 stages of 2 chunks: the last stage does 2 forward passes more than backward ones before it
  // turns, the first one 2 more than that.
  CHECK(text(usual_order(2, 1, 2, 2)) == "F0 F1 F0' B0' F1' B1' B0 B1");
  CHECK(text(usual_order(2, 0, 2, 2)) == "F0 F1 F0' F1' B0' B1' B0 B1");
  CHECK(text(usual_order(1, 0, 1, 3)) == "F0 B0 F1 B1 F2 B2");
}

TEST_CASE("Every stage runs every pass once, forward before backward, micro-batches in order") {
  for_each_stage([](const PipelineSchedule& schedule, const PipelineShape& shape, int stage) {
    std::set<std::pair<int, int>> forward;
    std::set<std::pair<int, int>> backward;
    std::map<std::pair<int, bool>, int> last;  // micro-batch, by chunk and direction
    for (const PipelinePass& pass : pipeline_order(schedule, shape, stage)) {
      const std::pair<int, int> what{pass.micro_batch, pass.chunk};
      REQUIRE((pass.is_forward ? forward : backward).insert(what).second);
      if (!pass.is_forward) REQUIRE(forward.count(what) == 1);
      const auto [place, is_first] = last.try_emplace({pass.chunk, pass.is_forward}, -1);
      REQUIRE(pass.micro_batch == place->second + 1);
      place->second = pass.micro_batch;
    }
    const auto n_passes = static_cast<std::size_t>(shape.chunks_per_stage * shape.n_micro_batches);
    REQUIRE(forward.size() == n_passes);
    REQUIRE(backward.size() == n_passes);
  });
}

TEST_CASE("A stage holds as many chunks of micro-batches as its schedule says") {
  for_each_stage([](const PipelineSchedule& schedule, const PipelineShape& shape, int stage) {
    int held = 0;
    int most = 0;
    for (const PipelinePass& pass : pipeline_order(schedule, shape, stage)) {
      held += pass.is_forward ? 1 : -1;
      most = std::max(most, held);
    }
    REQUIRE(most == schedule.chunks_in_flight(shape, stage));
  });
}

TEST_CASE("The stages of a pipeline never wait for each other in a circle") {
  for (const PipelineSchedule* schedule : pipeline_schedules()) {
    for (const PipelineShape& shape : shapes_of(*schedule)) {
      CAPTURE(schedule->name, shape.n_stages, shape.chunks_per_stage, shape.n_micro_batches);
      std::vector<std::vector<PipelinePass>> orders;
      for (int stage = 0; stage < shape.n_stages; ++stage)
        orders.push_back(pipeline_order(*schedule, shape, stage));
      // Chunks of the whole model are numbered in the order in which a micro-batch goes through them.
      std::set<std::tuple<int, int, bool>> done;
      const int last_chunk = shape.n_stages * shape.chunks_per_stage - 1;
      std::vector<std::size_t> next(orders.size(), 0);
      std::size_t n_left =
          2 * static_cast<std::size_t>(shape.n_stages * shape.chunks_per_stage * shape.n_micro_batches);
      for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (std::size_t stage = 0; stage < orders.size(); ++stage) {
          if (next[stage] == orders[stage].size()) continue;
          const PipelinePass& pass = orders[stage][next[stage]];
          const int chunk = pass.chunk * shape.n_stages + static_cast<int>(stage);
          const bool is_ready =
              pass.is_forward
                  ? chunk == 0 || done.contains({pass.micro_batch, chunk - 1, true})
                  : done.contains({pass.micro_batch, chunk, true}) &&
                        (chunk == last_chunk || done.contains({pass.micro_batch, chunk + 1, false}));
          if (!is_ready) continue;
          done.insert({pass.micro_batch, chunk, pass.is_forward});
          ++next[stage];
          --n_left;
          has_moved = true;
        }
      }
      REQUIRE(n_left == 0);
    }
  }
}

TEST_CASE("1F1B holds as many micro-batches as there are stages behind it, and one") {
  const PipelineSchedule& schedule = usual_schedule(1);
  CHECK(schedule.name == "1f1b");
  for (const PipelineShape& shape : shapes_of(schedule)) {
    for (int stage = 0; stage < shape.n_stages; ++stage)
      CHECK(schedule.chunks_in_flight(shape, stage) ==
            std::min(shape.n_stages - stage, shape.n_micro_batches));
  }
}

TEST_CASE("Interleaved 1F1B holds 2 behind + (v - 1) p chunks, and one") {
  // Source: Narayanan et al., arXiv 2104.04473, section 2.2.
  const PipelineSchedule& schedule = usual_schedule(2);
  CHECK(schedule.name == "interleaved");
  for (const PipelineShape& shape : shapes_of(schedule)) {
    for (int stage = 0; stage < shape.n_stages; ++stage) {
      const int behind = shape.n_stages - stage - 1;
      const int limit = 2 * behind + (shape.chunks_per_stage - 1) * shape.n_stages + 1;
      CHECK(schedule.chunks_in_flight(shape, stage) ==
            std::min(limit, shape.chunks_per_stage * shape.n_micro_batches));
    }
  }
}

const PipelineSchedule& schedule_named(std::string_view name) {
  return **std::ranges::find(pipeline_schedules(), name,
                             [](const PipelineSchedule* row) { return row->name; });
}

TEST_CASE("GPipe runs all forward passes and then all backward passes on every stage") {
  const PipelineSchedule& gpipe = schedule_named("gpipe");
  for (int stage = 0; stage < 4; ++stage)
    CHECK(text(pipeline_order(gpipe, {4, 1, 3}, stage)) == "F0 F1 F2 B0 B1 B2");
}

TEST_CASE("GPipe holds all micro-batches of a step, where 1F1B holds no more than there are stages") {
  const ParallelPlan one_forward{.n_gpus = 4, .pp_degree = 4};
  ParallelPlan gpipe = one_forward;
  gpipe.pipeline_schedule = &schedule_named("gpipe");
  for (const int n_micro_batches : {1, 4, 8, 32}) {
    for (int stage = 0; stage < 4; ++stage)
      CHECK(micro_batches_in_flight(gpipe, stage, n_micro_batches) == n_micro_batches);
    CHECK(micro_batches_in_flight(one_forward, 0, n_micro_batches) == std::min(4, n_micro_batches));
  }
}

TEST_CASE("A schedule goes with as many chunks of a stage as it knows, and with a pipeline") {
  Transformer model;
  model.n_layers = 32;
  const auto mistake_of = [&](ParallelPlan plan) {
    plan.n_gpus = 8;
    for (const PlanMistake& mistake : plan_mistakes(model, {}, plan)) {
      if (mistake.text().find("schedule") != std::string::npos) return mistake.text();
    }
    return std::string();
  };
  const PipelineSchedule* gpipe = &schedule_named("gpipe");
  const PipelineSchedule* interleaved = &schedule_named("interleaved");
  CHECK(mistake_of({.pp_degree = 4, .pipeline_schedule = gpipe}).empty());
  CHECK(mistake_of({.pp_degree = 4, .virtual_stages = 2, .pipeline_schedule = interleaved}).empty());
  CHECK(mistake_of({.pp_degree = 4, .virtual_stages = 2, .pipeline_schedule = gpipe}) ==
        "virtual_stages: expected 1 with the pipeline schedule gpipe, got 2");
  CHECK(mistake_of({.pp_degree = 4, .pipeline_schedule = interleaved}) ==
        "virtual_stages: expected at least 2 with the pipeline schedule interleaved, got 1");
  CHECK(mistake_of({.pipeline_schedule = gpipe}) ==
        "pp_degree: expected over 1 where a pipeline_schedule is named, got 1");
}

TEST_CASE("Every schedule has a name of its own, a summary and a source") {
  std::set<std::string_view> names;
  for (const PipelineSchedule* schedule : pipeline_schedules()) {
    CAPTURE(schedule->name);
    CHECK(names.insert(schedule->name).second);
    CHECK(!schedule->summary.empty());
    CHECK(schedule->source.find("arXiv") != std::string_view::npos);
  }
}

TEST_CASE("Pipelines that do not exist are refused") {
  CHECK_THROWS_WITH(usual_order(2, 0, 2, 3),
                    "interleaved pipeline: expected a multiple of the 2 stages, got 3 micro-batches a rank");
  CHECK_THROWS_WITH(usual_order(2, 2, 1, 3), "expected a stage of a pipeline, got stage 2 of 2");
  CHECK_THROWS_AS(usual_order(2, -1, 1, 3), std::invalid_argument);
  CHECK_THROWS_AS(usual_order(0, 0, 1, 3), std::invalid_argument);
  CHECK_THROWS_AS(usual_order(2, 0, 0, 3), std::invalid_argument);
  CHECK_THROWS_AS(usual_order(2, 0, 1, -1), std::invalid_argument);
}

}  // namespace
}  // namespace packsim
