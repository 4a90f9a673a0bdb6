#include "scenarios/loader/json/problems.hpp"

#include <catch2/catch.hpp>

#include "messages.hpp"

namespace packsim {

TEST_CASE("a message names file, place, what was expected and what came") {
  const Problem problem{"hbp_8b.json", "/cluster/nodes", "integer in 1..65536", "\"4\" (string)"};
  CHECK(problem.message() == "hbp_8b.json: /cluster/nodes: expected integer in 1..65536, got \"4\" (string)");
}

TEST_CASE("a message leaves out the parts that it does not have") {
  CHECK(Problem{"", "model", "a name", "nothing"}.message() == "model: expected a name, got nothing");
  CHECK(Problem{"a.json", "", "a name", "nothing"}.message() == "a.json: expected a name, got nothing");
}

TEST_CASE("all mistakes come in one error, one a line, in the order found") {
  Problems problems;
  problems.add({"a.json", "/x", "1", "2"});
  problems.add({"a.json", "/b", "3", "4"});
  try {
    problems.throw_if_any();
    FAIL("nothing thrown");
  } catch (const ScenarioError& error) {
    CHECK(error.messages() ==
          std::vector<std::string>{"a.json: /x: expected 1, got 2", "a.json: /b: expected 3, got 4"});
    CHECK(error.what() == std::string("a.json: /x: expected 1, got 2\na.json: /b: expected 3, got 4"));
  }
}

TEST_CASE("a message is one line that shows what would act on a terminal as its code") {
  CHECK(Problem{"a.json", "/x", "1", "two\n\x1b[2J"}.message() ==
        "a.json: /x: expected 1, got two\\x0a\\x1b[2J");
}

TEST_CASE("a mistake that is found twice is said once") {
  Problems problems;
  problems.add({"a.json", "/packing/capacity_tokens", "a multiple of the sp_degree 8", "9 (number)"});
  problems.add({"a.json", "/packing/capacity_tokens", "a multiple of the sp_degree 8", "9 (number)"});
  CHECK(problems.size() == 1);
}

TEST_CASE("of over 1000 mistakes the first 1000 are said, how many there are, and where the others start") {
  Problems problems;
  for (int i = 0; i < 1000; ++i) problems.add({"a.json", "/" + std::to_string(i), "1", "2"});
  problems.add({"b.json", "/x", "1", "2"});
  const std::vector<std::string> messages = messages_in(problems);
  REQUIRE(messages.size() == 1001);
  CHECK(messages[999] == "a.json: /999: expected 1, got 2");
  CHECK(messages[1000] ==
        "b.json: /x: expected at most 1000 mistakes, got 1001; those from here on are not shown");
}

TEST_CASE("no mistakes, no error") {
  CHECK_NOTHROW(Problems().throw_if_any());
}

}  // namespace packsim
