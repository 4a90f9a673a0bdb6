#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "tests/paths.hpp"

namespace fs = std::filesystem;

namespace {

void expect_only_in_shared(const std::regex& call) {
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(packsim_test::source_dir() + "/cli")) {
    if (entry.path().parent_path().filename() == "shared" || !entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      INFO(entry.path() << ": " << line);
      CHECK_FALSE(std::regex_search(line, call));
    }
  }
}

}  // namespace

TEST_CASE("The program prints through cli/shared alone, which escapes what would act on a terminal") {
  expect_only_in_shared(std::regex(R"(fmt::print|std::cout|std::cerr|\b(printf|puts|fputs)\()"));
}

TEST_CASE("The program writes files through cli/shared alone, which knows what it may replace") {
  expect_only_in_shared(std::regex(R"(\b(write_file|write_report|ofstream|fopen)\b)"));
}
