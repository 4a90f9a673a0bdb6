#include "reports/files/embedded.hpp"

#include <stdexcept>
#include <string>

namespace packsim {

std::string_view embedded_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name == name) return file.text;
  }
  throw std::logic_error("no embedded file is named " + std::string(name));
}

}  // namespace packsim
