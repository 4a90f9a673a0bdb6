#include "scenarios/loader/json/json_reader.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "read_messages.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

}  // namespace

TEST_CASE("integers are read up to both ends of their range") {
  CHECK(read_messages(R"({"low": -3, "high": 9223372036854775807, "absent": 1})", [](JsonReader& reader) {
          CHECK(reader.integer("low", -3, 5) == -3);
          CHECK(reader.integer("high", 0, std::int64_t{9223372036854775807}) == 9223372036854775807);
          CHECK(reader.integer("other", 1, 5, 4) == 4);
          CHECK(reader.optional_integer("absent", 1, 5) == 1);
          CHECK(reader.optional_integer("nothing", 1, 5) == std::nullopt);
        }).empty());
}

TEST_CASE("what is no integer in range is refused and reads as something harmless") {
  CHECK(read_messages(R"({"a": 3.0, "b": 1e3, "c": 0, "d": 18446744073709551615, "e": "4", "f": 6})",
                      [](JsonReader& reader) {
                        CHECK(reader.integer("a", 1, 5) == 1);
                        CHECK(reader.integer("b", 1, 5000, 7) == 7);
                        CHECK(reader.integer("c", 1, 5) == 1);
                        CHECK(reader.integer("d", 1, std::int64_t{9223372036854775807}) == 1);
                        CHECK(reader.optional_integer("e", 1, 5) == std::nullopt);
                        CHECK(reader.integer("f", 1, 1) == 1);
                        CHECK(reader.integer("g", 1, 5) == 1);
                      }) == Messages{"x.json: /a: expected integer in 1..5, got 3.0 (number)",
                                     "x.json: /b: expected integer in 1..5000, got 1000.0 (number)",
                                     "x.json: /c: expected integer in 1..5, got 0 (number)",
                                     "x.json: /d: expected integer in 1..9223372036854775807, got "
                                     "18446744073709551615 (number)",
                                     "x.json: /e: expected integer in 1..5, got \"4\" (string)",
                                     "x.json: /f: expected 1, got 6 (number)",
                                     "x.json: /g: expected integer in 1..5, got nothing"});
}

TEST_CASE("a key that counts tokens takes a text with a unit, and no other text") {
  CHECK(
      read_messages(
          R"({"a_tokens": "64K", "tokens_per_iteration": "1m", "b_tokens": "64Q", "c_tokens": "65536",
                          "d_tokens": "2K", "e_tokens": true, "nodes": "4K"})",
          [](JsonReader& reader) {
            CHECK(reader.integer("a_tokens", 1, 65536) == 65536);  // 64 x 1024
            CHECK(reader.integer("tokens_per_iteration", 1, 1 << 20) == 1048576);
            CHECK(reader.integer("b_tokens", 1, 65536) == 1);
            CHECK(reader.optional_integer("c_tokens", 1, 65536) == std::nullopt);
            CHECK(reader.integer("d_tokens", 1, 2047) == 1);  // 2 x 1024 is one too many
            reader.integer("e_tokens", 1, 5);
            reader.integer("nodes", 1, 65536);
          }) ==
      Messages{"x.json: /b_tokens: expected integer in 1..65536, or such as \"64K\", got \"64Q\" (string)",
               "x.json: /c_tokens: expected integer in 1..65536, or such as \"64K\", got \"65536\" (string)",
               "x.json: /d_tokens: expected integer in 1..2047, or such as \"64K\", got \"2K\" (string)",
               "x.json: /e_tokens: expected integer in 1..5, got true (boolean)",
               "x.json: /nodes: expected integer in 1..65536, got \"4K\" (string)"});
}

TEST_CASE("numbers may be integers and have to be in range") {
  CHECK(read_messages(R"({"a": 3, "b": 0.5, "c": -0.1, "d": 0, "e": 1.5, "f": true})",
                      [](JsonReader& reader) {
                        CHECK(reader.number("a", 0) == 3.0);
                        CHECK(reader.positive("b") == 0.5);
                        CHECK(reader.number("c", 0) == 0.0);
                        CHECK(reader.positive("d") > 0);
                        CHECK(reader.number("e", 0, 1) == 0.0);
                        CHECK(reader.number("f", 0) == 0.0);
                        CHECK(reader.optional_positive("g") == std::nullopt);
                      }) == Messages{"x.json: /c: expected number >= 0, got -0.1 (number)",
                                     "x.json: /d: expected number > 0, got 0 (number)",
                                     "x.json: /e: expected number in 0..1, got 1.5 (number)",
                                     "x.json: /f: expected number >= 0, got true (boolean)"});
}

TEST_CASE("an integer or a word") {
  CHECK(read_messages(R"({"a": "auto", "b": 7, "c": "none", "d": 9})",
                      [](JsonReader& reader) {
                        CHECK(reader.integer_or_word("a", 0, 8, "auto", 3) == std::nullopt);
                        CHECK(reader.integer_or_word("b", 0, 8, "auto", 3) == 7);
                        CHECK(reader.integer_or_word("c", 0, 8, "auto", 3) == std::nullopt);
                        CHECK(reader.integer_or_word("d", 0, 8, "auto", 3) == std::nullopt);
                        CHECK(reader.integer_or_word("e", 0, 8, "auto", 3) == 3);
                      }) ==
        Messages{"x.json: /c: expected integer in 0..8 or \"auto\", got \"none\" (string)",
                 "x.json: /d: expected integer in 0..8 or \"auto\", got 9 (number)"});
}

TEST_CASE("strings, booleans and names") {
  CHECK(read_messages(R"({"a": "x", "b": "", "c": false, "d": "drop", "e": "cut", "f": null})",
                      [](JsonReader& reader) {
                        CHECK(reader.string("a") == "x");
                        CHECK(reader.string("b").empty());
                        CHECK(reader.string("none", "y") == "y");
                        CHECK_FALSE(reader.boolean("c", true));
                        CHECK(reader.boolean("none", true));
                        CHECK(reader.one_of("d", kEmptyNames, Empty::keep) == Empty::drop);
                        CHECK(reader.one_of("e", kEmptyNames, Empty::keep) == Empty::keep);
                        CHECK_FALSE(reader.boolean("f"));
                      }) ==
        Messages{"x.json: /b: expected string of at least one character, got \"\" (string)",
                 "x.json: /e: expected one of drop, keep, error, got \"cut\" (string)",
                 "x.json: /f: expected true or false, got null"});
}

TEST_CASE("readers of missing or wrong members read silently") {
  CHECK(read_messages(R"({"a": 5, "list": [{"n": 1}, 7]})",
                      [](JsonReader& reader) {
                        CHECK(reader.object("a").integer("n", 1, 5) == 1);
                        CHECK(reader.object("b").string("s").empty());
                        CHECK(reader.optional_object("c").silent());
                        std::vector<JsonReader> readers = reader.objects("list");
                        REQUIRE(readers.size() == 2);
                        CHECK(readers[0].integer("n", 1, 5) == 1);
                        CHECK(readers[1].integer("n", 1, 5) == 1);
                      }) == Messages{"x.json: /a: expected object, got 5 (number)",
                                     "x.json: /b: expected object, got nothing",
                                     "x.json: /list/1: expected object, got 7 (number)"});
}

TEST_CASE("keys that nobody reads are mistakes, those that are merely absent are not") {
  CHECK(read_messages(R"({"nodse": 4, "type": "x", "colour": "red"})",
                      [](JsonReader& reader) {
                        reader.string("type");
                        reader.integer("nodes", 1, 8, 1);
                      }) ==
        Messages{"x.json: /nodse: expected no such key (did you mean nodes?), got 4 (number)",
                 "x.json: /colour: expected no such key (known: type, nodes), got \"red\" (string)"});
}

TEST_CASE("of over 100 unread keys in an object the first 100 are said, and how many there are") {
  std::string text = "{";
  for (int i = 0; i < 101; ++i) text += (i == 0 ? "" : ", ") + ("\"k" + std::to_string(i)) + "\": 1";
  const Messages messages = read_messages(text + "}", [](JsonReader&) {});
  REQUIRE(messages.size() == 101);
  CHECK(messages[99] == "x.json: /k99: expected no such key (known: none), got 1 (number)");
  CHECK(messages[100] ==
        "x.json: top level: expected no unknown keys, got 101, of which the first 100 are shown");
}

TEST_CASE("an array has at most 65536 objects") {
  const auto array_of = [](int n) {
    std::string text = R"({"a": [{})";
    for (int i = 1; i < n; ++i) text += ",{}";
    return text + "]}";
  };
  const auto read = [](JsonReader& reader) { reader.objects("a"); };
  CHECK(read_messages(array_of(65'536), read).empty());
  CHECK(read_messages(array_of(65'537), read) ==
        Messages{"x.json: /a: expected at most 65536 objects, got 65537"});
}

TEST_CASE("unread keys can be said to be a strategy's, or let through") {
  CHECK(read_messages(R"({"a": 1})", [](JsonReader& reader) {
          reader.describe_as({.text = "strategy ffd"});
        }) == Messages{"x.json: /a: expected no such key for strategy ffd (known: none), got 1 (number)"});
  CHECK(read_messages(R"({"a": 1})", [](JsonReader& reader) { reader.allow_any_keys(); }).empty());
}

TEST_CASE("keys are escaped in places") {
  CHECK(read_messages(R"({"a/b~c\nd": 1})", [](JsonReader&) {}) ==
        Messages{"x.json: /a~1b~0c\\nd: expected no such key (known: none), got 1 (number)"});
}

TEST_CASE("long values are abbreviated, at a character's end") {
  const std::string umlauts = [] {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "\xC3\xA4";
    return text;
  }();
  const Messages messages =
      read_messages("{\"a\": \"" + umlauts + "\"}", [](JsonReader& reader) { reader.integer("a", 0, 1); });
  REQUIRE(messages.size() == 1);
  // A quote and 28 characters of two bytes are 57 bytes.
  CHECK(messages[0] ==
        "x.json: /a: expected integer in 0..1, got \"" + umlauts.substr(0, 56) + "... (string)");
}

TEST_CASE("a document that is no object is one mistake") {
  CHECK(read_messages("[1, 2]", [](JsonReader& reader) { reader.string("name"); }) ==
        Messages{"x.json: top level: expected object, got [1,2] (array)"});
}

}  // namespace packsim
