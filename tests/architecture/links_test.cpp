#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"

namespace {

namespace pages = std::filesystem;

// What somebody reads in a checkout: folders of builds, caches and environments are not.
std::vector<pages::path> markdown_pages() {
  std::vector<pages::path> found;
  for (auto at = pages::recursive_directory_iterator(packsim_test::source_dir());
       at != pages::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename();
    const bool is_built = name.front() == '.' || name.rfind("build", 0) == 0 || name == "packsim-report";
    if (at->is_directory() && is_built) at.disable_recursion_pending();
    if (at->path().extension() == ".md") found.push_back(at->path());
  }
  return found;
}

// Lines outside blocks of code, as in those nothing is a link or a heading.
std::vector<std::string> lines_of(const pages::path& page) {
  std::vector<std::string> lines;
  std::ifstream file(page);
  bool in_block = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      in_block = !in_block;
    } else if (!in_block) {
      lines.push_back(line);
    }
  }
  return lines;
}

// GitHub's anchor of a heading: lower case, spaces become hyphens, other punctuation goes.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char letter : heading) {
    if (letter == ' ') {
      anchor += '-';
    } else if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' || letter == '_' ||
               letter < 0) {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  return anchor;
}

std::set<std::string> anchors_of(const pages::path& page) {
  static const std::regex kHeading("^#+ +(.*)$");
  static const std::regex kNamed("<a id=\"([^\"]+)\">");
  std::set<std::string> anchors;
  for (const std::string& line : lines_of(page)) {
    std::smatch match;
    if (std::regex_match(line, match, kHeading)) anchors.insert(anchor_of(match[1]));
    if (std::regex_search(line, match, kNamed)) anchors.insert(match[1]);
  }
  return anchors;
}

}  // namespace

TEST_CASE("Every relative link of a page leads to a file that there is, and to a heading in it") {
  static const std::regex kLink(R"re(\]\(([^)\s]+)\))re");
  int n_links = 0;
  for (const pages::path& page : markdown_pages()) {
    for (const std::string& line : lines_of(page)) {
      for (std::sregex_iterator at(line.begin(), line.end(), kLink), end; at != end; ++at) {
        const std::string target = (*at)[1];
        if (target.find("://") != std::string::npos) continue;
        ++n_links;
        const std::size_t hash = target.find('#');
        const std::string file = target.substr(0, hash);
        const pages::path to = file.empty() ? page : page.parent_path() / file;
        INFO(page << ": " << target);
        CHECK(pages::exists(to));
        if (hash != std::string::npos) CHECK(anchors_of(to).contains(target.substr(hash + 1)));
      }
    }
  }
  CHECK(n_links > 100);
}
