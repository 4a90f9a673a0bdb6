#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace packsim {

/// One mistake: the place, what was expected, what came. Empty parts are left out of the message.
struct Problem {
  std::string file;   ///< as the user spelled it
  std::string place;  ///< a JSON pointer, a line, ...
  std::string expected;
  std::string got;

  /// One line, whatever texts from files are in the parts (files/text/printable.hpp).
  std::string message() const;
};

/// The user's mistakes, all of them: what() has one a line.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<std::string> messages);
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

/// Mistakes found so far, in the order in which they were found, and the files that were read.
class Problems {
 public:
  /// A mistake that was reported before, say through a default that several strategies share, is kept once.
  void add(Problem problem);
  const std::vector<Problem>& all() const { return problems_; }
  std::size_t size() const { return problems_.size(); }
  /// The JSON files that were read, with the hash of their bytes.
  void add_file(const std::string& path, const std::string& hash) { files_[path] = hash; }
  const std::map<std::string, std::string>& files() const { return files_; }
  /// Throws ScenarioError where there are any, with the first 1000 of them, how many there are, and the place
  /// of the first that is left out.
  void throw_if_any() const;

 private:
  std::vector<Problem> problems_;
  std::set<std::string> messages_;
  std::map<std::string, std::string> files_;
};

}  // namespace packsim
