#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace packsim::microbench {

/// What the user asked for.
struct CommandLine {
  std::vector<std::string> plans;
  std::string out;
  double budget_s = 0;  ///< 0: no end
  double case_seconds = 2;
  double noise_fraction = 0.005;
  int min_samples = 10;
  int max_samples = 1000;
  double min_case_s = 0.15;  ///< shortest time for the samples of a case
  double warmup_s = 0.2;
  double case_timeout_s = 120;
  int device = -1;  ///< -1: not given
  bool list = false;
  bool retry_failed = false;
  bool dry_run = false;
  bool verify = false;
  bool version = false;
  bool help = false;
  std::string text;  ///< as it was typed, for the record
};

/// A mistake of the user: exit code 2.
struct UserError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Throws UserError that names every mistake, a line each.
CommandLine parse_command_line(int argc, const char* const* argv);
/// What --help prints, from the same table that the parser reads.
std::string help_text();

}  // namespace packsim::microbench
