#include "recommend/known_candidates.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {
namespace {

CandidateTimes read_times(JsonReader reader) {
  reader.allow_any_keys();
  // JSON has no number for a run that never ends.
  const auto time = [&](const char* key) {
    return reader.nullable_number(key).value_or(std::numeric_limits<double>::infinity());
  };
  return {.wall_hours = time("wall_hours"),
          .wall_hours_low = time("wall_hours_low"),
          .wall_hours_high = time("wall_hours_high"),
          .gpu_days = time("gpu_days"),
          .gpu_days_low = time("gpu_days_low"),
          .gpu_days_high = time("gpu_days_high"),
          .money = reader.nullable_number("money"),
          .money_low = reader.nullable_number("money_low"),
          .money_high = reader.nullable_number("money_high")};
}

Standing read_standing(JsonReader& reader) {
  std::vector<std::string> names;
  for (int i = 0; i < kNStandings; ++i) names.emplace_back(standing_name(static_cast<Standing>(i)));
  return static_cast<Standing>(reader.one_of("standing", names));
}

Candidate read_candidate(JsonReader& reader) {
  reader.allow_any_keys();
  Candidate candidate;
  candidate.strategy = reader.nullable_string("strategy").value_or("");
  candidate.standing = read_standing(reader);
  candidate.reason = reader.nullable_string("reason").value_or("");
  candidate.job_hash = reader.nullable_string("job_hash").value_or("");
  if (!reader.is_null("plan") && reader.value("plan") != nullptr)
    candidate.plan = CandidatePlan{.zero_stage = reader.integer("zero_stage", 0, 3),
                                   .groups = reader.string("groups"),
                                   .json = reader.value("plan")->dump()};
  if (!reader.is_null("times")) candidate.times = read_times(reader.object("times"));
  if (candidate.is_comparable() && !candidate.times)
    reader.refuse("times", "object, as the candidate was simulated");
  return candidate;
}

}  // namespace

std::vector<Candidate> known_candidates(const std::string& path) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  std::vector<Candidate> candidates;
  {
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    reader.integer("format", 1, 1);
    for (JsonReader& one : reader.objects("candidates")) candidates.push_back(read_candidate(one));
  }
  problems.throw_if_any();
  return candidates;
}

}  // namespace packsim
