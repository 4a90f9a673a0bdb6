// What refusals say, word for word: tests/plan_files/refusal_texts.txt has each forgery in the first plan
// that it can be made in, and in every other plan where that says something in other words.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/paths.hpp"
#include "tests/plan_files/all_forgeries.hpp"

namespace packsim::testing {
namespace {

// The words of a line, without its numbers and hashes.
std::string words_of(const std::string& line) {
  std::string words;
  std::istringstream parts(line);
  for (std::string part; parts >> part;) {
    if (std::ranges::none_of(part, [](unsigned char c) { return std::isdigit(c) != 0; })) words += part + " ";
  }
  return words;
}

bool says_something_new(const std::string& refusal, std::set<std::string>& known) {
  bool is_new = false;
  std::istringstream lines(refusal);
  for (std::string line; std::getline(lines, line);) is_new |= known.insert(words_of(line)).second;
  return is_new;
}

std::string texts_of_all_refusals() {
  std::vector<Bytes> plans;
  for (const MakePlan& how : base_plans()) plans.push_back(make_plan(how).bytes());
  std::string texts;
  std::set<std::string> known;
  for (const ForgeryRule& rule : all_rules()) {
    bool is_first = true;
    for (const Bytes& whole : plans) {
      Forgery plan(whole);
      if (!rule.forge(plan)) continue;
      rehash(plan.file);
      const std::string refusal = refusal_of(plan.file);
      if (says_something_new(refusal, known) || is_first) texts += "# " + rule.name + "\n" + refusal + "\n\n";
      is_first = false;
    }
  }
  return texts;
}

}  // namespace

TEST_CASE("A refusal says all that is wrong with a forged plan, with place, expected and got") {
  const std::string path = packsim_test::source_dir() + "/tests/plan_files/refusal_texts.txt";
  std::ostringstream file;
  file << std::ifstream(path).rdbuf();
  const std::string expected = file.str();
  const std::string texts = texts_of_all_refusals();
  const auto [other, other_expected] = std::ranges::mismatch(texts, expected);
  if (other == texts.end() && other_expected == expected.end()) return;
  std::ofstream("refusal_texts.txt") << texts;
  const auto at = static_cast<std::size_t>(other - texts.begin());
  const std::size_t rule = std::min(texts.rfind("# ", at), texts.size());
  FAIL(path << " has other texts from here on:\n"
            << texts.substr(rule, 600)
            << "\nIf the new ones are right, take the file refusal_texts.txt of this folder.");
}

}  // namespace packsim::testing
