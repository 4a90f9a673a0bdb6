#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "files/read_file.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/lengths/bad_rows.hpp"
#include "scenarios/loader/lengths/length_text.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

// Values of subsets and of their groups, of one kind, in one line.
struct TraceValues {
  std::vector<double> subsets;
  std::vector<std::vector<double>> groups;  // empty, or [n_subsets]
};

class TraceLine {
 public:
  TraceLine(const Json& object, std::int64_t line, const LengthSpec& lengths, BadRows& bad_rows)
      : object_(object), line_(line), lengths_(lengths), bad_rows_(bad_rows) {}

  std::optional<std::int64_t> step() {
    const std::optional<std::int64_t> step =
        object_.contains("step") ? integer_of(object_["step"]) : std::nullopt;
    if (!step || *step < 0) {
      refuse("/step", "integer >= 0", object_.contains("step") ? describe(object_["step"]) : "nothing");
      return std::nullopt;
    }
    return step;
  }

  // n_draws is for people.
  void check_members() {
    for (const auto& [key, value] : object_.items()) {
      if (key != "step" && key != "probabilities" && key != "rewards" && key != "n_draws")
        refuse("/" + pointer_step(key), "step, probabilities, rewards or n_draws", quote(key));
    }
  }

  std::optional<TraceValues> values(const char* member) {
    if (!object_.contains(member)) return std::nullopt;
    const std::string place = fmt::format("/{}", member);
    const Json& json = object_[member];
    if (!json.is_object() || !json.contains("subsets") || !json["subsets"].is_object()) {
      refuse(place + "/subsets", "an object with a number for each subset", describe(json));
      return std::nullopt;
    }
    const auto before = static_cast<std::size_t>(bad_rows_.count());
    for (const auto& [key, value] : json.items()) {
      if (key != "subsets" && key != "groups")
        refuse(place + "/" + pointer_step(key), "subsets or groups", quote(key));
    }
    TraceValues values;
    for (const LengthSource& source : lengths_.mix)
      values.subsets.push_back(number(json["subsets"], source.name, place + "/subsets"));
    check_known(json["subsets"], place + "/subsets");
    if (json.contains("groups")) {
      if (!json["groups"].is_object()) {
        refuse(place + "/groups", "an object with an array for each subset", describe(json["groups"]));
        return std::nullopt;
      }
      for (const LengthSource& source : lengths_.mix)
        values.groups.push_back(numbers(json["groups"], source.name, place + "/groups"));
      check_known(json["groups"], place + "/groups");
    }
    return static_cast<std::size_t>(bad_rows_.count()) == before ? std::optional(values) : std::nullopt;
  }

 private:
  void refuse(const std::string& place, std::string expected, std::string got) {
    bad_rows_.add(fmt::format("line {}: {}", line_, place), std::move(expected), std::move(got));
  }

  static bool is_amount(const Json& value) {
    return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0;
  }

  double number(const Json& object, const std::string& name, const std::string& place) {
    if (object.contains(name) && is_amount(object[name])) return object[name].get<double>();
    refuse(place + "/" + pointer_step(name), "number >= 0",
           object.contains(name) ? describe(object[name]) : "nothing");
    return 0;
  }

  std::vector<double> numbers(const Json& object, const std::string& name, const std::string& place) {
    const bool is_array = object.contains(name) && object[name].is_array() && !object[name].empty() &&
                          std::ranges::all_of(object[name], is_amount);
    if (!is_array) {
      refuse(place + "/" + pointer_step(name), "an array of numbers >= 0",
             object.contains(name) ? describe(object[name]) : "nothing");
      return {};
    }
    return object[name].get<std::vector<double>>();
  }

  void check_known(const Json& object, const std::string& place) {
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(lengths_.mix, key, &LengthSource::name) != lengths_.mix.end()) continue;
      refuse(place + "/" + pointer_step(key), "a source of the mix", quote(key));
    }
  }

  const Json& object_;
  std::int64_t line_;
  const LengthSpec& lengths_;
  BadRows& bad_rows_;
};

void add_trace_line(const Json& object, std::int64_t number, const LengthSpec& lengths, BadRows& bad_rows,
                    MixingSpec& mixing) {
  TraceLine line(object, number, lengths, bad_rows);
  line.check_members();
  const std::optional<std::int64_t> step = line.step();
  const std::optional<TraceValues> probabilities = line.values("probabilities");
  const std::optional<TraceValues> rewards = line.values("rewards");
  if (!step) return;
  const auto is_later = [&](const auto& rows) { return rows.empty() || rows.back().step < *step; };
  if ((probabilities && !is_later(mixing.options.recorded)) || (rewards && !is_later(mixing.rewards))) {
    bad_rows.add(fmt::format("line {}: /step", number), "a later step than in the lines before",
                 fmt::format("{}", *step));
    return;
  }
  if (probabilities)
    mixing.options.recorded.push_back({*step, {probabilities->subsets, probabilities->groups}});
  if (rewards) mixing.rewards.push_back({*step, {rewards->subsets, rewards->groups}});
}

}  // namespace

void read_mixing_trace(const std::string& path, const LengthSpec& lengths, Problems& problems,
                       MixingSpec& mixing) {
  const std::string bytes = read_file(path, kMostDataBytes);
  problems.add_file(path, hash_of(bytes));
  BadRows bad_rows(path, problems);
  std::string_view rest = without_last_line_ends(without_byte_order_mark(bytes));
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Problems of_line;
    const std::optional<Json> value = parse_json(path, rest.substr(0, end), of_line, number);
    for (const Problem& problem : of_line.all()) bad_rows.add(problem.place, problem.expected, problem.got);
    if (value && of_line.size() == 0) {
      if (value->is_object()) {
        add_trace_line(*value, number, lengths, bad_rows, mixing);
      } else {
        bad_rows.add(number, "an object with a step", describe(*value));
      }
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (bad_rows.count() > 0) return;
  const bool needs_rewards = find_mixing_policy(mixing.policy) != nullptr &&
                             find_mixing_policy(mixing.policy)->needs != RewardNeed::none;
  const bool has_rows = needs_rewards ? !mixing.rewards.empty() : !mixing.options.recorded.empty();
  const std::int64_t first = !has_rows ? 0 : (needs_rewards ? 0 : mixing.options.recorded.front().step);
  if (!has_rows || first != 0)
    bad_rows.add("whole file", needs_rewards ? "lines with rewards" : "probabilities from step 0 on",
                 has_rows ? fmt::format("probabilities from step {} on", first) : "none");
}

}  // namespace packsim
