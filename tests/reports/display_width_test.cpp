#include "reports/text/display_width.hpp"

#include <catch2/catch.hpp>

#include "reports/text/text_table.hpp"

namespace packsim::formats_detail {

TEST_CASE("East Asian characters and emoji take two columns, accents none, all else one") {
  CHECK(display_columns("") == 0);
  CHECK(display_columns("h\u00fcbsch") == 6);
  CHECK(display_columns("\u6a21\u578b") == 4);  // two Chinese characters
  CHECK(display_columns("\U0001f680") == 2);    // a rocket
  CHECK(display_columns("e\u0301") == 1);       // e and a combining accent
  CHECK(display_columns("\xff") == 1);          // a byte that is not UTF-8
}

TEST_CASE("a text that is too wide keeps its start and end, and never half a character") {
  CHECK(shortened("planner", 7) == "planner");
  CHECK(shortened("planner-of-mine", 10) == "plan..mine");
  // Six columns, two of them the gap: one wide character in front and one behind.
  CHECK(shortened("\u6a21\u578b\u6a21\u578b", 6) == "\u6a21..\u578b");
  CHECK(start_within("\u6a21\u578b", 3) == "\u6a21");
}

TEST_CASE("a word that is longer than a line is broken, as is any other line that is too wide") {
  CHECK(wrapped("ab cdefghij k", 4, 1) == "ab\n cde\n fgh\n ij\n k\n");
  CHECK(wrapped("ab  cd", 6, 0) == "ab  cd\n");  // spaces that align stay
  CHECK(wrapped("", 4, 2) == "\n");
}

}  // namespace packsim::formats_detail
