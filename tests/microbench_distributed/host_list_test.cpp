#include "calibration/microbench/distributed/processes/host_list.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace {

using packsim::microbench::expand_host_list;
using Hosts = std::vector<std::string>;

}  // namespace

TEST_CASE("A Slurm node list expands in its order with its leading zeros") {
  CHECK(expand_host_list("gpu[001-003,007],login1") ==
        Hosts{"gpu001", "gpu002", "gpu003", "gpu007", "login1"});
  CHECK(expand_host_list("one") == Hosts{"one"});
  CHECK(expand_host_list("n[9-11]") == Hosts{"n9", "n10", "n11"});
  CHECK(expand_host_list("n[08-10]") == Hosts{"n08", "n09", "n10"});
  CHECK(expand_host_list("b,a[2],a1") == Hosts{"b", "a2", "a1"});
  CHECK(expand_host_list("dgx-[1-2].cluster") == Hosts{"dgx-1.cluster", "dgx-2.cluster"});
}

TEST_CASE("Several brackets in a name give every combination") {
  CHECK(expand_host_list("r[1-2]n[01-02]x") == Hosts{"r1n01x", "r1n02x", "r2n01x", "r2n02x"});
}

TEST_CASE("A node list that is none is refused with what was expected") {
  using Catch::Matchers::Contains;
  const auto [list, expected] =
      GENERATE(table<std::string, std::string>({{"", "host name"},
                                                {"a,,b", "host name"},
                                                {"a,", "host name"},
                                                {"gpu[1-3", "]"},
                                                {"gpu1-3]", "["},
                                                {"gpu[1[2]]", "bracket in a bracket"},
                                                {"gpu[]", "number"},
                                                {"gpu[3-1]", "low to high"},
                                                {"gpu[a-b]", "number"},
                                                {"gpu[1,]", "number"},
                                                {"gpu[-3]", "number"},
                                                {"gpu[1-99999999999999999999]", "number"},
                                                {"gpu[0-18446744073709551615]", "low to high"},
                                                {"gpu[1-60000]x[1-60000]", "65536"},
                                                {"gpu 1", "spaces"}}));
  CAPTURE(list);
  CHECK_THROWS_WITH(expand_host_list(list), Contains(expected) && Contains("\"" + list + "\""));
  CHECK_THROWS_AS(expand_host_list(list), std::invalid_argument);
}
