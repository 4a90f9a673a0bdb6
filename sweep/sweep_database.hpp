#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/tables/run_values.hpp"

namespace packsim {

/// A column of the table `points`.
struct PointColumn {
  std::string name;
  std::string type;  ///< of SQLite: INTEGER, REAL or TEXT
};

/// One point of a sweep.
struct PointRow {
  std::size_t point = 0;
  std::vector<Value> values;  ///< [n_columns]
};

/// What a sweep is, as names and texts: two sweeps of equal facts have equal points.
using SweepFacts = std::vector<std::pair<std::string, std::string>>;
/// The one that says which part of a grid a database has; the databases of its shards differ in it alone.
inline constexpr const char* kShardFact = "shard";
/// The one that says which packsim computed the points. Two versions may compute different ones.
inline constexpr const char* kVersionFact = "version of packsim";

/// A name as SQL writes it.
std::string quoted_name(const std::string& name);

/// The SQLite database of a sweep (docs/sweep.md): what is in it after any kill is whole, and another process
/// may read it meanwhile. Only one process at a time writes to it.
class SweepDatabase {
 public:
  /// Opens the database of this sweep, or makes it where there is no file.
  ///
  /// Throws UnusableFileError if the file is no such database or of another sweep; std::invalid_argument if
  /// another process writes to it; FileError where the machine will not open or write it.
  SweepDatabase(const std::string& path, const SweepFacts& facts, std::vector<PointColumn> columns);
  /// Opens a database of any sweep only to read it, while its writer may go on. Throws FileError where the
  /// machine will not read it, and UnusableFileError if it is no database.
  explicit SweepDatabase(const std::string& path);
  ~SweepDatabase();
  SweepDatabase(const SweepDatabase&) = delete;
  SweepDatabase& operator=(const SweepDatabase&) = delete;

  /// The numbers of all points that have a row, ascending.
  std::vector<std::size_t> known_points();
  /// The rows that a SELECT gives.
  std::vector<std::vector<Value>> select(const std::string& sql);
  /// Adds rows in one transaction: all of them or, where it throws, none.
  void add(std::span<const PointRow> rows);
  /// Adds the rows of another database of this sweep, or of a shard of it, that are not there yet. Throws as
  /// the constructor does.
  void merge(const std::string& path);
  /// Leaves one file, with all rows. Without it nothing is lost, but the rows may lie in files beside.
  void close();

 private:
  class Connection;
  static bool is_new(Connection& connection, const SweepFacts& facts);

  std::unique_ptr<Connection> connection_;
  SweepFacts facts_;
  std::vector<PointColumn> columns_;
};

}  // namespace packsim
