#include "cli/plot/draw_charts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <stdexcept>

#include "cli/shared/child_process.hpp"
#include "cli/shared/pythons.hpp"
#include "files/shell_quoted.hpp"
#include "reports/files/embedded.hpp"

namespace packsim {
namespace {

constexpr int kNoVlConvert = 75;  // as in reports/charts/draw_charts.py
constexpr const char* kWheel = "vl-convert-python>=1.9";

[[noreturn]] void refuse_pythons(const std::vector<std::string>& tried, bool is_chosen) {
  std::string install = fmt::format(
      "python3 -m venv ~/.packsim-charts && ~/.packsim-charts/bin/pip install '{}'\nThen add --python "
      "~/.packsim-charts/bin/python, or set PACKSIM_PYTHON to it",
      kWheel);
  if (is_chosen) install = fmt::format("{} -m pip install '{}'", shell_quoted(tried.front()), kWheel);
  throw std::runtime_error(fmt::format(
      "svg and png need a Python with vl-convert-python, and {}. Install it with\n  {}\nThe chart as a "
      "Vega-Lite spec needs no Python: --out NAME.json",
      tried.empty() ? "there is no python3" : fmt::format("{} has none", fmt::join(tried, ", ")), install));
}

std::string request_text(const PictureRequest& request) {
  std::string specs;
  for (const auto& [name, spec] : request.specs)
    specs += fmt::format("{}\"{}\":{}", specs.empty() ? "" : ",", name, spec);
  return fmt::format(R"({{"format":"{}","scale":{},"specs":{{{}}}}})", request.format, request.scale, specs);
}

std::string failure(const std::string& python, const ChildOutput& child) {
  const std::string text = child.err.substr(0, child.err.find_last_not_of("\n") + 1);
  return fmt::format("{} could not draw {}", python,
                     text.empty() ? fmt::format("and ended with {}", child.exit_code) : text);
}

// Each picture is behind a line with its size.
std::vector<std::string> pictures_in(std::string_view text, std::size_t n_pictures) {
  std::vector<std::string> pictures;
  while (!text.empty()) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto start = static_cast<std::size_t>(end - text.data()) + 1;
    if (error != std::errc() || start > text.size() || text[start - 1] != '\n' || size > text.size() - start)
      break;
    pictures.emplace_back(text.substr(start, size));
    text.remove_prefix(start + size);
  }
  if (pictures.size() != n_pictures || !text.empty())
    throw std::runtime_error(fmt::format("expected {} pictures from Python, got {} and {} bytes", n_pictures,
                                         pictures.size(), text.size()));
  return pictures;
}

}  // namespace

std::vector<std::string> draw_charts(const PictureRequest& request, const std::string& python) {
  const std::vector<std::string> places = python_interpreters(python);
  const std::string script(embedded_file("draw_charts.py"));
  const std::string input = request_text(request);
  for (const std::string& place : places) {
    const ChildOutput child = run_with_input(place, {"-c", script}, input);
    if (child.exit_code == kNoVlConvert) continue;
    if (child.exit_code > 128) throw ExitCode{child.exit_code};
    if (child.exit_code != 0) throw std::runtime_error(failure(place, child));
    return pictures_in(child.out, request.specs.size());
  }
  refuse_pythons(places, !python.empty() || is_python_set());
}

}  // namespace packsim
