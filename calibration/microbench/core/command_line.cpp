#include "calibration/microbench/core/command_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <variant>

namespace packsim::microbench {
namespace {

struct Switch {
  bool CommandLine::*set;
};
struct Text {
  std::string CommandLine::*set;
};
struct Texts {
  std::vector<std::string> CommandLine::*add;
};
struct Number {
  double CommandLine::*set;
  double low;
  double high;
  double unit = 1;  // what the user's number is multiplied with
};
struct Integer {
  int CommandLine::*set;
  int low;
  int high;
};

struct Option {
  std::string_view name;
  std::string_view value;  // as the help calls it
  std::variant<Switch, Text, Texts, Number, Integer> kind;
  std::string_view help;
};

constexpr double kDay_s = 86400;
const std::array kOptions = {
    Option{"--plan", "FILE", Texts{&CommandLine::plans},
           "measure the cases of this file, one a line, in their order; may be repeated"},
    Option{"--out", "FILE", Text{&CommandLine::out},
           "append to this measurement file; cases that it holds are not measured again"},
    Option{"--budget-s", "SECONDS", Number{&CommandLine::budget_s, 0, 30 * kDay_s},
           "end after this time, with the cases that were measured by then; 0 (default): no end"},
    Option{"--case-seconds", "SECONDS", Number{&CommandLine::case_seconds, 0.001, kDay_s},
           "longest time for the samples of one case (default 2)"},
    Option{"--noise", "PERCENT", Number{&CommandLine::noise_fraction, 0.001, 100, 0.01},
           "stop sampling at this relative standard error of the median (default 0.5)"},
    Option{"--min-samples", "N", Integer{&CommandLine::min_samples, 1, 1000000}, "of a case (default 10)"},
    Option{"--max-samples", "N", Integer{&CommandLine::max_samples, 1, 1000000},
           "of a case, once --min-case-s has passed (default 1000)"},
    Option{"--min-case-s", "SECONDS", Number{&CommandLine::min_case_s, 0, kDay_s},
           "shortest time for the samples of one case (default 0.15)"},
    Option{
        "--warmup-s", "SECONDS", Number{&CommandLine::warmup_s, 0, kDay_s},
        "the GPU works on a case for so long before samples count, so that its clock has fallen to what it "
        "can sustain (default 0.2)"},
    Option{
        "--case-timeout-s", "SECONDS", Number{&CommandLine::case_timeout_s, 1, 30 * kDay_s},
        "a case that takes longer hangs: the run ends with exit code 3, and the same command goes on behind "
        "it (default 120)"},
    Option{"--retry-failed", "", Switch{&CommandLine::retry_failed},
           "measure the cases again at which an earlier run failed, crashed, hung or was killed"},
    Option{"--device", "N", Integer{&CommandLine::device, 0, 1023},
           "the GPU that single-GPU kernels run on (default: the first of process 0)"},
    Option{"--list", "", Switch{&CommandLine::list},
           "print what can be measured here, with the libraries' versions"},
    Option{"--dry-run", "", Switch{&CommandLine::dry_run},
           "print the plan in the order in which it would run, with what would be skipped and why"},
    Option{"--verify", "", Switch{&CommandLine::verify},
           "check each kernel against a reference on the CPU; exit code 70 if one is wrong"},
    Option{"--version", "", Switch{&CommandLine::version}, "print the version"},
    Option{"--help", "", Switch{&CommandLine::help}, "print this"},
};

template <typename T>
bool parse_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string short_number(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}

// Sets the option; the text of what was expected where the value is none.
std::string apply(const Option& option, std::string_view value, CommandLine& line) {
  if (const auto* text = std::get_if<Text>(&option.kind)) {
    line.*text->set = std::string(value);
    return value.empty() ? "expected a text" : "";
  }
  if (const auto* texts = std::get_if<Texts>(&option.kind)) {
    (line.*texts->add).emplace_back(value);
    return value.empty() ? "expected a file name" : "";
  }
  if (const auto* number = std::get_if<Number>(&option.kind)) {
    double given = 0;
    if (!parse_number(value, given) || !std::isfinite(given) || given < number->low || given > number->high)
      return "expected a number in " + short_number(number->low) + ".." + short_number(number->high);
    line.*number->set = given * number->unit;
    return "";
  }
  const auto& integer = std::get<Integer>(option.kind);
  int given = 0;
  if (!parse_number(value, given) || given < integer.low || given > integer.high)
    return "expected an integer in " + std::to_string(integer.low) + ".." + std::to_string(integer.high);
  line.*integer.set = given;
  return "";
}

const Option* find_option(std::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  line.text = "packsim_microbench";
  std::string mistakes;
  const auto report = [&](const std::string& mistake) {
    mistakes += (mistakes.empty() ? "" : "\n") + mistake;
  };
  for (int i = 1; i < argc; ++i) line.text += " " + std::string(argv[i]);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const std::string name(word.substr(0, equals));
    const Option* option = find_option(name);
    if (option == nullptr) {
      report("expected an option (see --help), got \"" + std::string(word) + "\"");
    } else if (const auto* set = std::get_if<Switch>(&option->kind)) {
      if (equals != std::string_view::npos)
        report(name + ": expected no value, got \"" + std::string(word) + "\"");
      line.*set->set = true;
    } else if (equals == std::string_view::npos && i + 1 == argc) {
      report(name + ": expected " + std::string(option->value) + ", got nothing");
    } else {
      const std::string_view value =
          equals != std::string_view::npos ? word.substr(equals + 1) : std::string_view(argv[++i]);
      const std::string expected = apply(*option, value, line);
      if (!expected.empty()) report(name + ": " + expected + ", got \"" + std::string(value) + "\"");
    }
  }
  if (line.max_samples < line.min_samples)
    report("--max-samples: expected at least --min-samples (" + std::to_string(line.min_samples) + "), got " +
           std::to_string(line.max_samples));
  // Few long samples are waited for by as much.
  if (line.case_timeout_s < 5 * line.case_seconds)
    report("--case-timeout-s: expected at least 5 times --case-seconds (" +
           short_number(5 * line.case_seconds) + "), got " + short_number(line.case_timeout_s));
  const bool only_asks = line.list || line.version || line.help || line.verify;
  if (!only_asks && line.plans.empty()) report("--plan: expected at least one plan file, got none");
  if (!only_asks && !line.dry_run && line.out.empty()) report("--out: expected a measurement file, got none");
  if (!mistakes.empty() && !line.help) throw UserError(mistakes);
  return line;
}

std::string help_text() {
  std::string text =
      "usage: packsim_microbench --plan FILE... --out FILE [options]\n"
      "Measures GPU kernels for packsim's hardware profiles. A run that was ended goes on with the same "
      "command.\nOn several nodes torchrun, srun or mpirun starts it; MASTER_ADDR, which torchrun sets, is "
      "the host "
      "of process 0.\n\n";
  for (const Option& option : kOptions) {
    std::string left =
        "  " + std::string(option.name) + (option.value.empty() ? "" : " " + std::string(option.value));
    left.resize(std::max<std::size_t>(left.size() + 2, 26), ' ');
    text += left + std::string(option.help) + "\n";
  }
  text +=
      "\nExit codes: 0 done (or the budget spent), 2 wrong arguments, plan or measurement file, "
      "3 the machine (no GPU,\ndisk full, a kernel that hangs), 70 --verify found a wrong result, "
      "130 interrupted (Ctrl-C; what was measured is kept).\n";
  return text;
}

}  // namespace packsim::microbench
