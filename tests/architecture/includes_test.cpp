// Each file includes what declares the names that it uses. The builds do not show it, as all files of a
// folder are compiled as one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/paths.hpp"

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string, std::less<>>;

struct Source {
  std::vector<std::string> includes;
  std::vector<std::string>
      words;  // identifiers, "::", "->" and single characters, without comments or directives
};
using Sources = std::map<std::string, Source>;

// Names of the standard library that are checked, by their headers.
const std::map<std::string, Names> kStandard = {
    {"algorithm", {"any_of", "clamp", "max", "min", "sort"}},
    {"array", {"array"}},
    {"atomic", {"atomic"}},
    {"bit", {"bit_cast", "bit_ceil", "bit_width", "countr_zero", "popcount"}},
    {"charconv", {"from_chars", "to_chars"}},
    {"chrono", {"chrono"}},
    {"cmath",
     {"ceil", "exp", "exp2", "floor", "hypot", "isfinite", "isnan", "llround", "log", "log2", "pow", "sqrt"}},
    {"cstdint", {"int32_t", "int64_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t"}},
    {"cstring", {"memcmp", "memcpy", "strcmp", "strlen"}},
    {"deque", {"deque"}},
    {"filesystem", {"filesystem"}},
    {"fstream", {"ifstream", "ofstream"}},
    {"functional", {"function"}},
    {"limits", {"numeric_limits"}},
    {"map", {"map", "multimap"}},
    {"memory", {"make_shared", "make_unique", "shared_ptr", "unique_ptr", "weak_ptr"}},
    {"mutex", {"lock_guard", "mutex", "scoped_lock", "unique_lock"}},
    {"numbers", {"numbers"}},
    {"numeric", {"accumulate", "gcd", "iota", "lcm", "midpoint", "partial_sum", "reduce"}},
    {"optional", {"nullopt", "optional"}},
    {"queue", {"priority_queue", "queue"}},
    {"set", {"multiset", "set"}},
    {"span", {"span"}},
    {"sstream", {"istringstream", "ostringstream"}},
    {"stdexcept", {"invalid_argument", "logic_error", "out_of_range", "runtime_error"}},
    {"string", {"string"}},
    {"string_view", {"string_view"}},
    {"thread", {"jthread", "thread"}},
    {"tuple", {"tie", "tuple"}},
    {"unordered_map", {"unordered_map"}},
    {"utility", {"exchange"}},
    {"variant", {"get_if", "holds_alternative", "variant", "visit"}},
    {"vector", {"vector"}},
};

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_identifier(std::string_view word) {
  return is_letter(word.front()) && std::isdigit(static_cast<unsigned char>(word.front())) == 0;
}

// CamelCase or kCamelCase, as our types and constants are written.
bool is_type_or_constant(std::string_view word) {
  if (word.size() > 1 && word.front() == 'k') word.remove_prefix(1);
  return std::isupper(word.front()) != 0;
}

// Whether a type may end before this word, so that the word is a name that is declared.
bool follows_type(const std::vector<std::string>& words, std::size_t i) {
  static const Names kNoTypes = {"return", "else", "case", "throw", "new", "const", "constexpr", "co_return"};
  if (i == 0) return false;
  const std::string& before = words[i - 1];
  const bool is_reference = before == "&" || before == "*";
  if (is_reference) return i > 1 && (is_identifier(words[i - 2]) || words[i - 2] == ">");
  return before == ">" || (is_identifier(before) && !kNoTypes.contains(before));
}

// The end of a comment, a literal or a directive that begins here; `begin` if there is none.
std::size_t skip_opaque(std::string_view text, std::size_t begin, bool is_line_begin) {
  const std::string_view rest = text.substr(begin);
  const auto after = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  if (rest.starts_with("//")) return after("\n", begin);
  if (rest.starts_with("/*")) return after("*/", begin + 2);
  if (rest.starts_with("R\"")) {
    const std::size_t open = text.find('(', begin);
    return after(")" + std::string(text.substr(begin + 2, open - begin - 2)) + "\"", open);
  }
  if (rest.front() == '"' || (rest.front() == '\'' && (begin == 0 || !is_letter(text[begin - 1])))) {
    std::size_t i = begin + 1;
    for (; i < text.size() && text[i] != rest.front(); ++i) i += text[i] == '\\' ? 1 : 0;
    return i + 1;
  }
  if (rest.front() == '#' && is_line_begin) {
    std::size_t end = after("\n", begin);
    while (end >= 2 && end < text.size() && text[end - 2] == '\\') end = after("\n", end);
    return end;
  }
  return begin;
}

Source read_source(const std::string& text) {
  Source source;
  bool is_line_begin = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = skip_opaque(text, i, is_line_begin);
    if (end > i) {
      const std::string opaque = text.substr(i, end - i);
      if (opaque.starts_with("#include"))
        source.includes.push_back(opaque.substr(10, opaque.find_first_of("\">", 10) - 10));
      is_line_begin = opaque.back() == '\n';
      i = end;
    } else if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      is_line_begin = is_line_begin || text[i] == '\n';
      ++i;
    } else {
      std::size_t n = 1;
      while (is_letter(text[i]) && i + n < text.size() && is_letter(text[i + n])) ++n;
      if (text.compare(i, 2, "::") == 0 || text.compare(i, 2, "->") == 0) n = 2;
      source.words.push_back(text.substr(i, n));
      is_line_begin = false;
      i += n;
    }
  }
  return source;
}

// The name that a statement of a namespace declares: a type, a function, a constant; "" if it declares none.
std::string declared_name(const std::vector<std::string>& statement) {
  std::vector<std::string> words = statement;
  int depth = 0;
  if (!words.empty() && words.front() == "template") {
    std::size_t i = 1;
    do {
      depth += words[i] == "<" ? 1 : words[i] == ">" ? -1 : 0;
    } while (++i < words.size() && depth > 0);
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (words.size() < 2) return "";
  const std::string& first = words.front();
  if (first == "using") return words.size() > 2 && words[2] == "=" ? words[1] : "";
  if (first == "concept") return words[1];
  if (first == "struct" || first == "class" || first == "enum")
    return words[1] == "class" && words.size() > 2 ? words[2] : words[1];
  for (std::size_t i = 1; i < words.size(); ++i) {
    depth += words[i] == "<" ? 1 : words[i] == ">" ? -1 : 0;
    if (depth > 0 || (words[i] != "(" && words[i] != "=")) continue;
    const bool is_member = i > 1 && words[i - 2] == "::";
    return is_identifier(words[i - 1]) && !is_member ? words[i - 1] : "";
  }
  return is_identifier(words.back()) ? words.back() : "";
}

// What the namespaces of a header declare.
Names declared_names(const Source& source) {
  Names names;
  std::vector<bool> are_namespaces;  // of the braces that are open
  std::vector<std::string> statement;
  const auto is_outside = [&] { return std::ranges::find(are_namespaces, false) == are_namespaces.end(); };
  for (const std::string& word : source.words) {
    if (word == "{") {
      const bool is_namespace = is_outside() && std::ranges::find(statement, "namespace") != statement.end();
      if (is_outside() && !is_namespace) names.insert(declared_name(statement));
      are_namespaces.push_back(is_namespace);
      statement.clear();
    } else if (word == "}") {
      if (!are_namespaces.empty()) are_namespaces.pop_back();
      statement.clear();
    } else if (is_outside()) {
      const bool is_end = word == ";";
      const bool is_type = !statement.empty() && (statement[0] == "struct" || statement[0] == "class");
      if (is_end && !is_type) names.insert(declared_name(statement));
      if (is_end) statement.clear();
      if (!is_end) statement.push_back(word);
    }
  }
  for (const char* no_name : {"", "static_assert", "void"}) names.erase(no_name);
  return names;
}

// Names that the file declares somewhere: its own types, functions and variables.
Names own_names(const Source& source) {
  static const Names kTypeWords = {"struct", "class", "enum", "using", "typename", "concept"};
  static const Names kAfterName = {"=", "(", "{", ";", ",", ")", ":", "["};
  Names names;
  for (std::size_t i = 1; i + 1 < source.words.size(); ++i) {
    if (!is_identifier(source.words[i])) continue;
    if (kTypeWords.contains(source.words[i - 1]) ||
        (follows_type(source.words, i) && kAfterName.contains(source.words[i + 1])))
      names.insert(source.words[i]);
  }
  return names;
}

// Types, constants and called functions that are no members; those of the standard library begin with
// "std::".
Names used_names(const Source& source) {
  Names names;
  for (std::size_t i = 0; i + 1 < source.words.size(); ++i) {
    const std::string& word = source.words[i];
    const std::string before = i > 0 ? source.words[i - 1] : "";
    if (!is_identifier(word) || before == "." || before == "->") continue;
    const std::string qualifier = before == "::" && i > 1 ? source.words[i - 2] : "";
    if (qualifier == "std") names.insert("std::" + word);
    if (before == "::" && qualifier != "packsim") continue;
    const bool is_call = source.words[i + 1] == "(" && !follows_type(source.words, i);
    if (is_type_or_constant(word) || is_call) names.insert(word);
  }
  return names;
}

// All that a file includes, and all that this includes.
Names included(const Sources& sources, const std::string& path) {
  Names all;
  std::vector<std::string> open = sources.at(path).includes;
  while (!open.empty()) {
    const std::string header = open.back();
    open.pop_back();
    if (!all.insert(header).second || !sources.contains(header)) continue;
    const std::vector<std::string>& more = sources.at(header).includes;
    open.insert(open.end(), more.begin(), more.end());
  }
  return all;
}

// "a.cpp uses B, which b.hpp declares", for each name that no included header mentions.
std::vector<std::string> missing_includes(const Sources& sources) {
  std::map<std::string, std::string> header_of;
  for (const auto& [path, source] : sources) {
    if (path.ends_with(".cpp")) continue;
    for (const std::string& name : declared_names(source)) header_of.emplace(name, path);
  }
  std::map<std::string, Names> mentioned;
  for (const auto& [path, source] : sources)
    mentioned[path] = Names(source.words.begin(), source.words.end());
  for (const auto& [header, names] : kStandard)
    for (const std::string& name : names) header_of["std::" + name] = header;
  std::vector<std::string> missing;
  for (const auto& [path, source] : sources) {
    const Names headers = included(sources, path);
    const std::string own_header = fs::path(path).replace_extension(".hpp").string();
    if (own_header != path && sources.contains(own_header) && !headers.contains(own_header))
      missing.push_back(path + " does not include " + own_header);
    const Names own = own_names(source);
    for (const std::string& name : used_names(source)) {
      const auto declared = header_of.find(name);
      if (declared == header_of.end() || declared->second == path || own.contains(name)) continue;
      const bool is_there = std::ranges::any_of(headers, [&](const std::string& header) {
        const auto words = mentioned.find(header);
        return header == declared->second || (words != mentioned.end() && words->second.contains(name));
      });
      if (!is_there) missing.push_back(path + " uses " + name + ", which " + declared->second + " declares");
    }
  }
  return missing;
}

Sources product_sources() {
  Sources sources;
  const fs::path root = packsim_test::source_dir();
  for (const char* folder :
       {"calibration", "cli", "experiment", "files", "models", "packing", "plan_files", "planning", "python",
        "recommend", "reports", "scenarios", "sim", "sweep", "validation"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp" && extension != ".h") continue;
      std::ifstream file(entry.path());
      sources[fs::relative(entry.path(), root).string()] =
          read_source(std::string(std::istreambuf_iterator(file), {}));
    }
  }
  return sources;
}

}  // namespace

TEST_CASE("Each file includes what declares the names that it uses") {
  const Sources sources = product_sources();
  REQUIRE(sources.size() > 1000);
  CHECK(missing_includes(sources) == std::vector<std::string>());
}

TEST_CASE("A name is missing where no included header has it, whatever comments and literals say") {
  const std::string user = R"(
namespace packsim {
// A comment has Other, "and a literal has kOther".
int twice() { return 2 * area(Box{1}, kScale); }
})";
  Sources sources = {
      {"box.hpp", read_source("#pragma once\nnamespace packsim {\nstruct Box { int width; };\n"
                              "inline constexpr int kScale = 2;\ntemplate <int n> int other();\n}")},
      {"area.hpp",
       read_source("#include \"box.hpp\"\nnamespace packsim {\nint area(Box box, int scale);\n}")},
      {"user.cpp", read_source("#include \"area.hpp\"" + user)},
  };
  CHECK(missing_includes(sources).empty());
  sources["user.cpp"] = read_source("#include \"box.hpp\"" + user);
  CHECK(missing_includes(sources) == std::vector<std::string>{"user.cpp uses area, which area.hpp declares"});
  sources["user.cpp"] = read_source(user);
  CHECK(missing_includes(sources) ==
        std::vector<std::string>{"user.cpp uses Box, which box.hpp declares",
                                 "user.cpp uses area, which area.hpp declares",
                                 "user.cpp uses kScale, which box.hpp declares"});
  sources["box.cpp"] = read_source("");
  sources["user.cpp"] = read_source("#include \"area.hpp\"\nstd::vector<int> sizes;");
  CHECK(missing_includes(sources) ==
        std::vector<std::string>{"box.cpp does not include box.hpp",
                                 "user.cpp uses std::vector, which vector declares"});
}
