#pragma once

#include <string>
#include <utility>
#include <vector>

namespace packsim {

/// What charts are drawn as.
struct PictureRequest {
  std::string format;                                      ///< svg or png
  double scale = 1;                                        ///< pixels of a png for each of the spec's
  std::vector<std::pair<std::string, std::string>> specs;  ///< name, whole Vega-Lite spec
};

/// Draws charts with vl-convert, in one Python process, and returns the bytes of each file.
///
/// python: the interpreter that has vl-convert-python. If empty, $PACKSIM_PYTHON; and if that is not set, the
/// first that has it of the Python beside this program (in a wheel's environment), .venv in the source tree
/// (`make deps`), and python3 on PATH. Throws std::invalid_argument where `python` or $PACKSIM_PYTHON is no
/// program, and std::runtime_error where no Python has vl-convert, with the command that installs it, or
/// where it does not draw a chart, with its text.
std::vector<std::string> draw_charts(const PictureRequest& request, const std::string& python);

}  // namespace packsim
