#include "scenarios/loader/data_root.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "temp_folder.hpp"
#include "tests/paths.hpp"

namespace packsim {

namespace fs = std::filesystem;

TEST_CASE("data are found above an installed program or library, also through a link") {
  if (std::getenv("PACKSIM_DATA") != nullptr) return;
  const TempFolder folder;
  folder.write("prefix/share/packsim/here", "");
  const std::string data = fs::canonical(folder.path() + "/prefix/share/packsim").string();
  CHECK(find_data_root(folder.write("prefix/bin/packsim", "")) == data);
  const std::string library = folder.write("prefix/lib/python3.11/site-packages/packsim/_simulator.so", "");
  CHECK(find_data_root(library) == data);
  fs::create_symlink(library, folder.path() + "/link.so");
  CHECK(find_data_root(folder.path() + "/link.so") == data);
}

TEST_CASE("without installed data those of the source tree are used") {
  if (std::getenv("PACKSIM_DATA") != nullptr) return;
  const TempFolder folder;
  const std::string binary = folder.write("bin/packsim", "");
  CHECK(fs::equivalent(find_data_root(binary), packsim_test::source_dir()));
  CHECK(fs::equivalent(find_data_root("no such file"), packsim_test::source_dir()));
}

}  // namespace packsim
