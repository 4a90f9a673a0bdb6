#include "reports/advice/advice_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "files/shell_quoted.hpp"
#include "files/text/printable.hpp"
#include "reports/formats/plan_search_json.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

using namespace formats_detail;
using Json = nlohmann::ordered_json;

// Less is no gain: two simulated plans that are as good.
constexpr double kGain = 0.001;

double saved_fraction(const Advice& advice, const AdvisedChange& change) {
  return advice.gpu_days ? 1 - *change.gpu_days / *advice.gpu_days : 0;
}

std::string what_of(const AdvisedChange& change) {
  return fmt::format("{}", fmt::join(change.what, ", and "));
}

std::string percentage(double saved) {
  return fmt::format("{:+.1f}%", -100 * saved);
}

std::string settings_of(const AdvisedChange& change) {
  std::string text;
  for (const std::string& setting : change.settings)
    text += "         --set " + printable(shell_quoted(setting)) + "\n";
  return text;
}

// What the change saves, what it takes, and the settings that repeat it.
std::string line_of(const Advice& advice, const AdvisedChange& change, int width_columns) {
  const std::string saving = advice.gpu_days
                                 ? fmt::format("{:>7}  ", percentage(saved_fraction(advice, change)))
                                 : std::string(9, ' ');
  const std::string line =
      fmt::format("{}{}: {} GPU-days{}", saving, what_of(change), quantity(*change.gpu_days),
                  interval_note(change.gpu_days_low, change.gpu_days_high));
  return wrapped(line, width_columns, 9) + settings_of(change);
}

std::string limits_text(const Advice& advice, int width_columns) {
  std::string text;
  for (const AdvisedChange& limit : advice.limits) {
    const bool is_gain = limit.gpu_days && limit.trains_asked_job && saved_fraction(advice, limit) >= kGain;
    if (is_gain) text += line_of(advice, limit, width_columns);
  }
  if (text.empty()) return "";
  return "\n" +
         wrapped("Limits that no setting of a real job reaches, each simulated in the same way:",
                 width_columns, 0) +
         "\n" + text;
}

std::string sentence(std::string_view start, const std::vector<std::string>& parts, int width_columns) {
  if (parts.empty()) return "";
  return wrapped(printable(fmt::format("{}: {}.", start, fmt::join(parts, "; "))), width_columns, 2);
}

std::string headline(const Advice& advice) {
  const std::string name = printable_name(advice.strategy);
  if (!advice.gpu_days)
    return name +
           " does not fit in memory. These changes make it fit, each simulated from the changed "
           "scenario:";
  return fmt::format(
      "{} takes {} GPU-days. What one change would save, each simulated from the changed scenario:", name,
      quantity(*advice.gpu_days));
}

Json changes_json(const Advice& advice, const std::vector<AdvisedChange>& changes) {
  Json list = Json::array();
  for (const AdvisedChange& change : changes) {
    list.push_back({{"what", what_of(change)},
                    {"settings", change.settings},
                    {"feasible", change.feasible},
                    {"gpu_days", optional_json(change.gpu_days)},
                    {"gpu_days_low", change.gpu_days_low},
                    {"gpu_days_high", change.gpu_days_high},
                    {"saved_fraction",
                     change.gpu_days && advice.gpu_days ? Json(saved_fraction(advice, change)) : Json()},
                    {"trains_asked_job", change.trains_asked_job},
                    {"refused", change.refused ? Json(*change.refused) : Json()}});
  }
  return list;
}

}  // namespace

std::string advice_text(const Advice& advice, int width_columns) {
  std::string text = wrapped(headline(advice), width_columns, 0) + "\n";
  std::vector<std::string> same;
  std::vector<std::string> slower;
  std::vector<std::string> misfits;
  std::vector<std::string> others;
  bool has_gain = false;
  for (const AdvisedChange& change : advice.changes) {
    if (change.refused) continue;
    const std::string what = what_of(change);
    if (!change.gpu_days) {
      misfits.push_back(what);
      continue;
    }
    const double saved = saved_fraction(advice, change);
    if (!change.trains_asked_job) {
      others.push_back(what);
    } else if (advice.gpu_days && saved < -kGain) {
      slower.push_back(fmt::format("{} ({})", what, percentage(saved)));
    } else if (advice.gpu_days && saved < kGain) {
      same.push_back(what);
    } else {
      has_gain = true;
      text += line_of(advice, change, width_columns);
    }
  }
  if (!has_gain)
    text +=
        advice.gpu_days ? "None of the changes below saves 0.1 %.\n" : "None of the changes below does.\n";
  if (!advice.gpu_days)
    return text + fmt::format("\n{} other changes, alone or two together, do not.\n", misfits.size());
  return text + "\n" + sentence("No gain", same, width_columns) + sentence("Slower", slower, width_columns) +
         sentence("Does not fit in memory", misfits, width_columns) +
         sentence("Trains another job, so it is not compared", others, width_columns) +
         limits_text(advice, width_columns);
}

std::string advice_json(const Advice& advice) {
  const Json json = {{"strategy", advice.strategy},
                     {"feasible", advice.feasible},
                     {"gpu_days", optional_json(advice.gpu_days)},
                     {"changes", changes_json(advice, advice.changes)},
                     {"limits", changes_json(advice, advice.limits)}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace packsim
