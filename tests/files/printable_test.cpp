#include "files/text/printable.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace packsim;
using namespace std::string_literals;

namespace {

struct Printed {
  std::string text;
  std::string shown;
};

}  // namespace

TEST_CASE("What would act on a terminal is shown as its code") {
  for (const Printed& one : {
           Printed{"plain text, caf\u00e9, \u6a21\u578b, \U0001F600 \u2764\uFE0F",
                   "plain text, caf\u00e9, \u6a21\u578b, \U0001F600 \u2764\uFE0F"},
           Printed{"red\x1b[31m", "red\\x1b[31m"}, Printed{"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
           Printed{"nul\0end"s, "nul\\x00end"}, Printed{"del\x7f", "del\\x7f"},
           Printed{"csi\u009b31m", "csi\\x9b31m"},  // one C1 character starts a sequence as ESC [ does
           Printed{"\u202Egnp.exe", "\\u202egnp.exe"},
           Printed{"\u2066isolate\u2069", "\\u2066isolate\\u2069"},
           Printed{"zero\u200Bwidth\uFEFF", "zero\\u200bwidth\\ufeff"},
           Printed{"line\u2028end", "line\\u2028end"}, Printed{"tag\U000E0041", "tag\\U000e0041"},
           Printed{"\xff\xfe", "\\xff\\xfe"}, Printed{"cut\xe2\x82", "cut\\xe2\\x82"},
           Printed{"\xc0\xaf", "\\xc0\\xaf"},          // an overlong slash
           Printed{"\xed\xa0\x80", "\\xed\\xa0\\x80"}  // a surrogate
       }) {
    CHECK(printable(one.text) == one.shown);
  }
}

TEST_CASE("Lines of a message stay lines") {
  CHECK(printable_lines("a.json: \x1b[2J\nb.json: \u202E\n") == "a.json: \\x1b[2J\nb.json: \\u202e\n");
}

TEST_CASE("Every line of an error has the program's name in front, and none acts on the terminal") {
  CHECK(message_lines("packsim_fit_steps", "a.csv: \x1b[2J\nb.csv: two") ==
        "packsim_fit_steps: a.csv: \\x1b[2J\npacksim_fit_steps: b.csv: two\n");
}

TEST_CASE("The middle of a long text gives way to the number of its characters") {
  const std::string text = std::string(60000, 'a') + std::string(40000, 'b');
  const std::string shown = printable_name(text);
  // " ...(100000 characters)... " has 27 characters and leaves 73 of 100: 37 and 36.
  CHECK(shown == std::string(37, 'a') + " ...(100000 characters)... " + std::string(36, 'b'));
}

TEST_CASE("Text of exactly the longest length stays whole, in characters rather than bytes") {
  std::string text;
  for (std::size_t i = 0; i < kLongestName; ++i) text += "\u00e9";
  CHECK(printable_name(text) == text);
  CHECK(printable_name(text + "x") != text + "x");
}
