// The database of a sweep: what is in it is whole, and it is of one sweep.
#include "sweep/sweep_database.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "files/file_error.hpp"

using Catch::Contains;
using namespace packsim;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "sweep-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::size_t n_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  std::string path_;
};

const SweepFacts kFacts = {{"grid", "{}"}, {"scenario hash", "abc"}};
const std::vector<PointColumn> kColumns = {
    {"cluster.nodes", "INTEGER"}, {"say \"x\"", "TEXT"}, {"gpu_days", "REAL"}};

PointRow row(std::size_t point, Value gpu_days) {
  return {point, {std::int64_t{8}, std::string("it's; DROP TABLE points"), std::move(gpu_days)}};
}

}  // namespace

TEST_CASE("rows come back as they were given, in one file") {
  const Folder folder;
  {
    SweepDatabase database(folder / "s.db", kFacts, kColumns);
    database.add(std::vector{row(3, 0.1 + 0.2), row(1, Value())});
    database.close();
  }
  CHECK(folder.n_files() == 1);
  SweepDatabase database(folder / "s.db", kFacts, kColumns);
  CHECK(database.known_points() == std::vector<std::size_t>{1, 3});
  const auto rows = database.select("SELECT * FROM points ORDER BY point");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == std::vector<Value>{std::int64_t{1}, std::int64_t{8}, "it's; DROP TABLE points", Value()});
  CHECK(rows[1][3] == Value(0.1 + 0.2));  // to the last bit
}

TEST_CASE("rows of one call are all there or none") {
  const Folder folder;
  SweepDatabase database(folder / "s.db", kFacts, kColumns);
  database.add(std::vector{row(5, 1.0)});
  CHECK_THROWS(database.add(std::vector{row(6, 1.0), row(5, 2.0)}));  // 5 is there
  CHECK(database.known_points() == std::vector<std::size_t>{5});
  database.add(std::vector{row(6, 1.0)});  // goes on after the mistake
  CHECK(database.known_points() == std::vector<std::size_t>{5, 6});
}

TEST_CASE("the database of another sweep is refused with what differs") {
  const Folder folder;
  { SweepDatabase database(folder / "s.db", kFacts, kColumns); }
  const SweepFacts other = {{"grid", "{}"}, {"scenario hash", "abd"}};
  CHECK_THROWS_WITH(SweepDatabase(folder / "s.db", other, kColumns),
                    Contains("its scenario hash is abc, this one's abd"));
}

TEST_CASE("points of another packsim are refused with both versions and what to do, after all other facts") {
  const Folder folder;
  const SweepFacts mine = {{"grid", "{}"}, {kVersionFact, "0.1.0+gaaaaaaaaaaaa"}};
  const SweepFacts next = {{"grid", "{}"}, {kVersionFact, "0.1.0+gbbbbbbbbbbbb.dirty.12345678"}};
  { SweepDatabase database(folder / "s.db", mine, kColumns); }
  const std::string message =
      folder / "s.db" + std::string(
                            ": expected points of packsim 0.1.0+gbbbbbbbbbbbb.dirty.12345678, which is this "
                            "one, got points of packsim 0.1.0+gaaaaaaaaaaaa: two versions may compute "
                            "different ones. Go on with that "
                            "packsim, or compute all points anew into another file");
  CHECK_THROWS_WITH(SweepDatabase(folder / "s.db", next, kColumns), message);
  CHECK_THROWS_AS(SweepDatabase(folder / "s.db", next, kColumns), std::invalid_argument);
  CHECK_THROWS_WITH(SweepDatabase(folder / "s.db", {{"grid", "{1}"}, next[1]}, kColumns),
                    Contains("its grid is"));
  SweepDatabase another(folder / "n.db", next, kColumns);
  CHECK_THROWS_WITH(another.merge(folder / "s.db"), message);
}

TEST_CASE("two sweeps do not write to one database") {
  const Folder folder;
  const SweepDatabase first(folder / "s.db", kFacts, kColumns);
  CHECK_THROWS_WITH(SweepDatabase(folder / "s.db", kFacts, kColumns),
                    Contains("expected no other sweep that writes to it"));
}

TEST_CASE("what is no database of a sweep is refused and stays as it is") {
  const Folder folder;
  const std::string text(5000, 'x');
  { std::ofstream(folder / "text.db") << text; }
  CHECK_THROWS_WITH(SweepDatabase(folder / "text.db", kFacts, kColumns),
                    Contains("expected a database of packsim sweep"));
  CHECK(fs::file_size(folder / "text.db") == text.size());
  CHECK_THROWS_AS(SweepDatabase(folder / "no/folder.db", kFacts, kColumns), FileError);
  CHECK_THROWS_AS(SweepDatabase(folder / "", kFacts, kColumns), FileError);
}

TEST_CASE("a database with a damaged page is refused or fails, with its name") {
  const Folder folder;
  {
    SweepDatabase database(folder / "s.db", kFacts, kColumns);
    std::vector<PointRow> rows;
    for (std::size_t i = 0; i < 2000; ++i) rows.push_back(row(i, 1.0));
    database.add(rows);
    database.close();
  }
  {
    std::fstream file(folder / "s.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8192);
    file << std::string(4096 * 8, '\xff');
  }
  CHECK_THROWS_WITH(
      [&] {
        SweepDatabase database(folder / "s.db", kFacts, kColumns);
        database.known_points();
      }(),
      Contains("s.db: expected a database of packsim sweep"));
}
