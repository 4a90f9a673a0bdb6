#include "validation/gate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace packsim {
namespace {

using nlohmann::ordered_json;

// A row or a bound: how far off, and whether that is good enough.
struct Entry {
  std::string outcome;
  double error = 0;  // size; 0 where refused
};

double rounded(double error) {
  return std::isnan(error) ? 0 : std::round(std::abs(error) * 1e6) / 1e6;
}

ordered_json entries_of(const ValidationSet& set) {
  ordered_json entries = ordered_json::object();
  for (const ValidationRow& row : set.rows)
    entries[row.name] = {{"error", rounded(row.error)}, {"outcome", outcome_name(row.outcome)}};
  for (const ValidationBound& bound : set.bounds)
    entries[bound.what] = {{"error", rounded(bound.value)}, {"outcome", bound.is_met() ? "met" : "missed"}};
  return entries;
}

Entry entry_of(const ordered_json& json) {
  return {json.at("outcome").get<std::string>(), json.at("error").get<double>()};
}

void compare(const std::string& name, const Entry& before, const Entry& now, GateFindings& findings) {
  const auto change = [&] {
    return fmt::format("{}: error {:.4g}, was {:.4g}", name, now.error, before.error);
  };
  if (before.outcome != now.outcome && (before.outcome == "met" || now.outcome == "not modelled")) {
    findings.failures.push_back(fmt::format("{}; {}, was {}", change(), now.outcome, before.outcome));
  } else if (now.error > before.error + kGateSlack) {
    findings.failures.push_back(change());
  } else if (now.error < before.error - kGateSlack || (now.outcome == "met" && before.outcome != "met")) {
    findings.gains.push_back(change());
  }
}

void compare_sets(const std::string& set, const ordered_json& before, const ordered_json& now,
                  GateFindings& findings) {
  for (const auto& [name, entry] : now.items()) {
    const std::string full = set + ": " + name;
    if (before.contains(name)) {
      compare(full, entry_of(before.at(name)), entry_of(entry), findings);
    } else {
      findings.failures.push_back(full + ": not in the gate");
    }
  }
  for (const auto& [name, entry] : before.items()) {
    if (!now.contains(name)) findings.failures.push_back(set + ": " + name + ": in the gate alone");
  }
}

}  // namespace

std::string gate_json(std::span<const ValidationSet> sets) {
  ordered_json all = ordered_json::object();
  for (const ValidationSet& set : sets) all[set.name] = entries_of(set);
  std::string text = "{\n";
  // A row a line: what changed shows in a diff.
  for (auto set = all.begin(); set != all.end(); ++set) {
    text += ordered_json(set.key()).dump() + ": {\n";
    for (auto row = set->begin(); row != set->end(); ++row)
      text += "  " + ordered_json(row.key()).dump() + ": " + row->dump() +
              (std::next(row) == set->end() ? "\n" : ",\n");
    text += std::next(set) == all.end() ? "}\n" : "},\n";
  }
  return text + "}\n";
}

GateFindings check_gate(const std::string& gate, std::span<const ValidationSet> sets) {
  GateFindings findings;
  try {
    const ordered_json before = ordered_json::parse(gate);
    for (const ValidationSet& set : sets) {
      const ordered_json nothing = ordered_json::object();
      compare_sets(set.name, before.contains(set.name) ? before.at(set.name) : nothing, entries_of(set),
                   findings);
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(fmt::format("expected a gate, got {}", error.what()));
  }
  return findings;
}

}  // namespace packsim
