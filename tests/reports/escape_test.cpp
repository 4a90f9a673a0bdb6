#include "reports/text/escape.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

using namespace packsim::formats_detail;
using namespace std::string_literals;

namespace {

struct Escaped {
  std::string text;
  std::string shown;
};

}  // namespace

TEST_CASE("What would act on a terminal is shown as its code") {
  for (const Escaped& one : {
           Escaped{"plain text, caf\u00e9, \u6a21\u578b, \U0001F600 \u2764\uFE0F",
                   "plain text, caf\u00e9, \u6a21\u578b, \U0001F600 \u2764\uFE0F"},
           Escaped{"red\x1b[31m", "red\\x1b[31m"}, Escaped{"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
           Escaped{"nul\0end"s, "nul\\x00end"}, Escaped{"del\x7f", "del\\x7f"},
           Escaped{"csi\u009b31m", "csi\\x9b31m"},  // one C1 character starts a sequence as ESC [ does
           Escaped{"\u202Egnp.exe", "\\u202egnp.exe"},
           Escaped{"\u2066isolate\u2069", "\\u2066isolate\\u2069"},
           Escaped{"zero\u200Bwidth\uFEFF", "zero\\u200bwidth\\ufeff"},
           Escaped{"line\u2028end", "line\\u2028end"}, Escaped{"tag\U000E0041", "tag\\U000e0041"},
           Escaped{"\xff\xfe", "\\xff\\xfe"}, Escaped{"cut\xe2\x82", "cut\\xe2\\x82"},
           Escaped{"\xc0\xaf", "\\xc0\\xaf"},          // an overlong slash
           Escaped{"\xed\xa0\x80", "\\xed\\xa0\\x80"}  // a surrogate
       }) {
    CHECK(printable(one.text) == one.shown);
  }
}

TEST_CASE("Lines of a message stay lines") {
  CHECK(printable_lines("a.json: \x1b[2J\nb.json: \u202E\n") == "a.json: \\x1b[2J\nb.json: \\u202e\n");
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

TEST_CASE("Fields that a spreadsheet would run get an apostrophe, numbers do not") {
  for (const Escaped& one :
       {Escaped{"=cmd|'/c calc'!A0", "'=cmd|'/c calc'!A0"}, Escaped{"@SUM(A1)", "'@SUM(A1)"},
        Escaped{"+A1", "'+A1"}, Escaped{"-A1", "'-A1"}, Escaped{"\t=1", "'\t=1"},
        Escaped{"\r=1", "\"'\r=1\""}, Escaped{"=1,2", "\"'=1,2\""}, Escaped{"-1.5", "-1.5"},
        Escaped{"-2e-05", "-2e-05"}, Escaped{"-inf", "'-inf"}, Escaped{"hbp", "hbp"}, Escaped{"", ""},
        Escaped{"a=b", "a=b"}, Escaped{"say \"hi\"", "\"say \"\"hi\"\"\""},
        Escaped{"two\nlines", "\"two\nlines\""}, Escaped{"esc\x1b", "esc\\x1b"}}) {
    CHECK(csv_field(one.text) == one.shown);
  }
}

TEST_CASE("Pages have no characters that HTML forbids, and no text that is markup") {
  CHECK(html_escaped("<a href='x' title=\"y\">&\0\x1b\uFFFE\n"s) ==
        "&lt;a href=&#39;x&#39; title=&quot;y&quot;&gt;&amp;\\x00\\x1b\\ufffe\n");
}

TEST_CASE("JSON in a script element ends no element and stays the same JSON") {
  const std::string name = "</script><!--\0\x1b \u0085 \u202E \U0001FFFE \u00e9"s;
  const std::string escaped = script_escaped(nlohmann::json(name).dump());
  CHECK(nlohmann::json::parse(escaped) == name);
  CHECK(escaped == "\"\\u003c/script>\\u003c!--\\u0000\\u001b \\u0085 \\u202e \\ud83f\\udffe \u00e9\"");
}
