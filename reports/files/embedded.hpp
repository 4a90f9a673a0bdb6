#pragma once

#include <span>
#include <string_view>

namespace packsim {

/// A file that the build put into the program: chart specs, the page's style and script, the Vega JavaScript.
struct EmbeddedFile {
  std::string_view name;  ///< without its folder: "gpu_days.vl.json"
  std::string_view text;
};

/// All of them, by name. cmake/embed_charts.cmake generates this list.
std::span<const EmbeddedFile> embedded_files();

/// The text of one of them. Throws std::logic_error where the build embedded no such file.
std::string_view embedded_file(std::string_view name);

}  // namespace packsim
