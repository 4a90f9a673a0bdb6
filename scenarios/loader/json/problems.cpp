#include "scenarios/loader/json/problems.hpp"

#include <utility>

namespace packsim {
namespace {

std::string lines(const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) text += (text.empty() ? "" : "\n") + message;
  return text;
}

}  // namespace

std::string Problem::message() const {
  std::string text;
  if (!file.empty()) text += file + ": ";
  if (!place.empty()) text += place + ": ";
  return text + "expected " + expected + ", got " + got;
}

ScenarioError::ScenarioError(std::vector<std::string> messages)
    : std::runtime_error(lines(messages)), messages_(std::move(messages)) {}

void Problems::add(Problem problem) {
  if (messages_.insert(problem.message()).second) problems_.push_back(std::move(problem));
}

void Problems::throw_if_any() const {
  if (problems_.empty()) return;
  std::vector<std::string> messages;
  for (const Problem& problem : problems_) messages.push_back(problem.message());
  throw ScenarioError(std::move(messages));
}

}  // namespace packsim
