#include "scenarios/loader/json/json_document.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "files/file_error.hpp"
#include "files/read_file.hpp"
#include "messages.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "temp_folder.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

Messages parse_messages(std::string_view text, std::optional<std::int64_t> line = std::nullopt) {
  Problems problems;
  parse_json("x.json", text, problems, line);
  return messages_in(problems);
}

}  // namespace

TEST_CASE("every JSON type is read, objects in the order of the file") {
  Problems problems;
  const auto json = parse_json("x.json", R"({"z": [1, -2, 3.5, true, null], "a": {"s": "t"}})", problems);
  REQUIRE(json);
  CHECK(problems.size() == 0);
  CHECK(json->dump() == R"({"z":[1,-2,3.5,true,null],"a":{"s":"t"}})");
}

TEST_CASE("a byte order mark in front is skipped, and columns are counted behind it") {
  CHECK(parse_messages("\xEF\xBB\xBF{}").empty());
  CHECK(parse_messages("\xEF\xBB\xBFx") ==
        Messages{"x.json: line 1, column 1: expected valid JSON, got \"x\""});
}

TEST_CASE("columns count characters, not bytes") {
  CHECK(parse_messages("{\"\xC3\xA4\xC3\xB6\": x}") ==
        Messages{"x.json: line 1, column 8: expected valid JSON, got \"x\""});
}

TEST_CASE("syntax errors name line, column and what came there") {
  CHECK(parse_messages("{\"a\": }") ==
        Messages{"x.json: line 1, column 7: expected valid JSON, got '}' while parsing value"});
  CHECK(parse_messages("{\n\"a\": 1,\n}") ==
        Messages{"x.json: line 3, column 1: expected valid JSON, got '}' while parsing object key"});
  CHECK(parse_messages("[1,\n2") ==
        Messages{"x.json: line 2, column 2: expected valid JSON, got end of input while parsing array"});
  CHECK(
      parse_messages("[\"a\nb\"]") ==
      Messages{"x.json: line 1, column 4: expected valid JSON, got invalid string: control character U+000A "
               "(LF) must be escaped to \\u000A or \\n"});
  CHECK(parse_messages("[-]") ==
        Messages{
            "x.json: line 1, column 3: expected valid JSON, got invalid number; expected digit after '-'"});
  CHECK(parse_messages("[1.0, 2.0 3.0]") ==
        Messages{"x.json: line 1, column 11: expected valid JSON, got number literal while parsing array"});
}

TEST_CASE(
    "comments are skipped where they are allowed, and mistakes behind them keep their line and column") {
  const auto parse = [](const std::string& text) {
    Problems problems;
    parse_json("x.json", text, problems, std::nullopt, Comments::allowed);
    return messages_in(problems);
  };
  CHECK(parse("// why\n{\"a\": /* 5 or */ 6, // seven\n \"//\": \"/* text */\"} // end").empty());
  // The x is the 11th character of the fourth line.
  CHECK(parse("/* two\nlines */\n// a third\n{\"a\": /**/x}") ==
        Messages{"x.json: line 4, column 11: expected valid JSON, got \"x\""});
  CHECK(parse("{\"a\": 1, // a comma too many\n}") ==
        Messages{"x.json: line 2, column 1: expected valid JSON, got '}' while parsing object key"});
  CHECK(parse("{ /* never closed\n}") ==
        Messages{"x.json: line 2, column 2: expected valid JSON, got invalid comment; missing closing '*/'"});
  CHECK(parse("# a shell's\n{}") == Messages{"x.json: line 1, column 1: expected valid JSON, got \"#\""});
  CHECK(parse("// nothing else") ==
        Messages{"x.json: line 1, column 16: expected valid JSON, got end of input while parsing value"});
}

TEST_CASE("comments and text behind the value are no JSON") {
  CHECK(parse_messages("// why\n{}") ==
        Messages{"x.json: line 1, column 1: expected valid JSON, got \"//\""});
  CHECK(parse_messages("{} // why") == Messages{"x.json: line 1, column 4: expected valid JSON, got \"//\""});
  CHECK(parse_messages("{}]") ==
        Messages{"x.json: line 1, column 3: expected valid JSON, got ']' while parsing value"});
}

TEST_CASE("a number that is too large for a double is refused") {
  CHECK(parse_messages("[-1e999]") ==
        Messages{"x.json: line 1, column 2: expected valid JSON, got -1e999 (too large a number)"});
}

TEST_CASE("64 levels of nesting are read, more are refused, however many") {
  CHECK(parse_messages(std::string(64, '[') + std::string(64, ']')).empty());
  const Messages refused = {"x.json: top level: expected at most 64 levels of nesting, got more"};
  CHECK(parse_messages(std::string(65, '[') + std::string(65, ']')) == refused);
  CHECK(parse_messages(std::string(1'000'000, '[')) == refused);
}

TEST_CASE("every key that comes twice is a mistake with its place") {
  CHECK(parse_messages(R"({"a": 1, "b": [{"a/b": 1}, {"a/b": 1, "a/b": 2}], "a": 3})") ==
        Messages{"x.json: /b/1/a~1b: expected one value, got a second one",
                 "x.json: /a: expected one value, got a second one"});
}

TEST_CASE("of two equal keys the first one counts") {
  Problems problems;
  const auto json = parse_json("x.json", R"({"a": 1, "a": 2})", problems);
  REQUIRE(json);
  CHECK((*json)["a"] == 1);
}

TEST_CASE("in a line of a file, places start with the line") {
  CHECK(parse_messages("{\"a\": }", 7) ==
        Messages{"x.json: line 7, column 7: expected valid JSON, got '}' while parsing value"});
  CHECK(parse_messages(R"({"a": 1, "a": 2})", 7) ==
        Messages{"x.json: line 7: /a: expected one value, got a second one"});
  CHECK(parse_messages(" ", 7) == Messages{"x.json: line 7: expected valid JSON, got an empty line"});
}

TEST_CASE("a document has the hash of its file's bytes") {
  const TempFolder folder;
  Problems problems;
  const JsonDocument document = read_json(folder.write("a.json", "{}\n"), problems);
  CHECK(document.hash == hash_of("{}\n"));
  CHECK(document.root->is_object());
}

TEST_CASE("the hash is XXH3 with 128 bits") {
  // The value of the empty text in the xxHash specification's test vectors.
  CHECK(hash_of("") == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("a file that is missing is the machine's error, a folder the user's") {
  const TempFolder folder;
  Problems problems;
  const std::string missing = folder.path() + "/missing.json";
  CHECK_THROWS_WITH(read_json(missing, problems), missing + ": No such file or directory");
  CHECK_THROWS_WITH(read_json(folder.path(), problems),
                    folder.path() + ": expected a file or a pipe, got a folder");
  CHECK_THROWS_AS(read_json(folder.path(), problems), UnusableFileError);
}

TEST_CASE("a file larger than the first block is read whole") {
  const TempFolder folder;
  const std::string bytes = std::string(1'000'000, 'a') + "z";
  CHECK(read_file(folder.write("large", bytes)) == bytes);
}

}  // namespace packsim
