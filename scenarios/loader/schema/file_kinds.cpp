#include "scenarios/loader/schema/file_kinds.hpp"

#include <array>

namespace packsim {

std::span<const FileKind> file_kinds() {
  static constexpr std::array<FileKind, 1> kKinds = {
      {{.name = "scenario",
        .title = "A scenario of packsim",
        .described_as = "a scenario",
        .read = [](JsonReader reader, const DataPaths& data, Problems& problems) {
          read_scenario(std::move(reader), "", data, problems);
        }}}};
  return kKinds;
}

}  // namespace packsim
