#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "tests/paths.hpp"

namespace fs = std::filesystem;

TEST_CASE("The program prints through cli/shared alone, which escapes what would act on a terminal") {
  const std::regex prints(R"(fmt::print|std::cout|std::cerr|\b(printf|puts|fputs)\()");
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(packsim_test::source_dir() + "/cli")) {
    if (entry.path().parent_path().filename() == "shared" || !entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      INFO(entry.path() << ": " << line);
      CHECK_FALSE(std::regex_search(line, prints));
    }
  }
}
