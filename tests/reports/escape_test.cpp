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
