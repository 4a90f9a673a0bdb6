#include "scenarios/loader/json/problems.hpp"

#include <algorithm>
#include <utility>

#include "files/text/printable.hpp"

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
  return printable(text + "expected " + expected + ", got " + got);
}

ScenarioError::ScenarioError(std::vector<std::string> messages)
    : std::runtime_error(lines(messages)), messages_(std::move(messages)) {}

void Problems::add(Problem problem) {
  if (messages_.insert(problem.message()).second) problems_.push_back(std::move(problem));
}

void Problems::throw_if_any() const {
  constexpr std::size_t kMostShown = 1000;  // nobody reads more, and files with millions of mistakes exist
  if (problems_.empty()) return;
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < std::min(problems_.size(), kMostShown); ++i)
    messages.push_back(problems_[i].message());
  if (problems_.size() > kMostShown) {
    const Problem& next = problems_[kMostShown];
    messages.push_back(Problem{next.file, next.place, "at most " + std::to_string(kMostShown) + " mistakes",
                               std::to_string(problems_.size()) + "; those from here on are not shown"}
                           .message());
  }
  throw ScenarioError(std::move(messages));
}

}  // namespace packsim
