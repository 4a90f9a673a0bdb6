#include <limits>

#include "scenarios/loader/json/either_key.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

std::int64_t read_interval(JsonReader& reader) {
  return reader.integer("every_iterations", 1, std::numeric_limits<std::int64_t>::max());
}

std::optional<BesideSteps::Evaluation> read_evaluation(JsonReader reader) {
  constexpr std::int64_t kMostTokens = 1'000'000'000'000'000;
  if (reader.silent()) return std::nullopt;
  BesideSteps::Evaluation evaluation{.every_iterations = read_interval(reader)};
  if (is_first_key(reader, "tokens", "duration_s")) {
    evaluation.tokens = static_cast<double>(reader.integer("tokens", 1, kMostTokens));
  } else {
    evaluation.duration_s = reader.number("duration_s", 0, kMostSeconds);
  }
  return evaluation;
}

std::optional<BesideSteps::Checkpoints> read_checkpoints(JsonReader reader, const PlanContext& context) {
  if (reader.silent()) return std::nullopt;
  return BesideSteps::Checkpoints{.every_iterations = read_interval(reader),
                                  .blocking_s = read_checkpoint_write(reader, context).blocking_s()};
}

}  // namespace

std::optional<BesideSteps> read_beside_steps(JsonReader reader, const PlanContext& context,
                                             bool has_failures) {
  if (reader.silent()) return std::nullopt;
  BesideSteps beside;
  for (const auto& [key, member] : {std::pair("startup_s", &BesideSteps::startup_s),
                                    {"first_steps_s", &BesideSteps::first_steps_s},
                                    {"data_wait_s", &BesideSteps::data_wait_s},
                                    {"finish_s", &BesideSteps::finish_s}})
    beside.*member = reader.number_or(key, 0, kMostSeconds, 0);
  beside.evaluation = read_evaluation(reader.optional_object("evaluation"));
  if (has_failures && reader.value("checkpoint") != nullptr) {
    reader.refuse("checkpoint", "no such key beside failures, whose checkpoints are counted");
  } else {
    beside.checkpoints = read_checkpoints(reader.optional_object("checkpoint"), context);
  }
  return beside;
}

}  // namespace packsim
