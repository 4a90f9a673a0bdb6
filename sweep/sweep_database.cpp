#include "sweep/sweep_database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <variant>

#include "files/file_descriptor.hpp"
#include "files/file_error.hpp"
#include "files/inputs.hpp"
#include "files/text/printable.hpp"

namespace packsim {

std::string quoted_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

namespace {

constexpr const char* kFormat = "2";
constexpr int kMergedRows = 1000;
constexpr std::chrono::milliseconds kReadersHaveItFor{10'000};

void require_file(const std::string& path) {
  if (!std::filesystem::exists(path)) throw FileError(path, ENOENT, "cannot read the sweep");
}

// The errno that says the same as an error of SQLite; 0 where the file's content is at fault.
int error_number_of(int code, int system_error) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ENOSPC;
    case SQLITE_READONLY:
      return EROFS;
    case SQLITE_PERM:
      return EACCES;
    case SQLITE_NOMEM:
      return ENOMEM;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return system_error != 0 ? system_error : EIO;
    default:
      return 0;
  }
}

}  // namespace

// One open database file and, unless it is only read, the lock that keeps other sweeps from it.
class SweepDatabase::Connection {
 public:
  explicit Connection(const std::string& path, bool only_reads = false)
      : path_(path),
        failure_(only_reads ? "cannot read the sweep" : "cannot write the sweep"),
        lock_(only_reads ? FileDescriptor(-1) : locked(path)) {
    const int flags = only_reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    keep_input(path);
    if (sqlite3_open_v2(path.c_str(), &database_, flags, nullptr) != SQLITE_OK) fail();
    sqlite3_extended_result_codes(database_, 1);
    sqlite3_busy_timeout(database_, static_cast<int>(kReadersHaveItFor.count()));
  }
  ~Connection() { sqlite3_close_v2(database_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const std::string& sql) {
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }

  // Whether the file has that journal now. SQLite does not wait for readers here, so this does, for a while.
  bool set_journal(const std::string& mode) {
    const auto end = std::chrono::steady_clock::now() + kReadersHaveItFor;
    for (;;) {
      const int code =
          sqlite3_exec(database_, ("PRAGMA journal_mode = " + mode).c_str(), nullptr, nullptr, nullptr);
      if (code == SQLITE_OK) return true;
      if ((code & 0xff) != SQLITE_BUSY && (code & 0xff) != SQLITE_LOCKED) fail();
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::vector<std::vector<Value>> select(const std::string& sql) {
    std::vector<std::vector<Value>> rows;
    const Statement statement(*this, sql);
    while (statement.step()) {
      std::vector<Value>& row = rows.emplace_back();
      for (int c = 0; c < sqlite3_column_count(statement.get()); ++c) row.push_back(statement.value(c));
    }
    return rows;
  }

  class Statement {
   public:
    Statement(Connection& connection, const std::string& sql) : connection_(connection) {
      if (sqlite3_prepare_v2(connection.database_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
        connection.fail();
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    bool step() const {
      const int code = sqlite3_step(statement_);
      if (code != SQLITE_ROW && code != SQLITE_DONE) connection_.fail();
      return code == SQLITE_ROW;
    }
    void bind(int parameter, const Value& value) const {
      const int code = std::visit([&](const auto& known) { return bind_value(parameter, known); }, value);
      if (code != SQLITE_OK) connection_.fail();
    }
    Value value(int column) const {
      switch (sqlite3_column_type(statement_, column)) {
        case SQLITE_INTEGER:
          return std::int64_t{sqlite3_column_int64(statement_, column)};
        case SQLITE_FLOAT:
          return sqlite3_column_double(statement_, column);
        case SQLITE_NULL:
          return {};
        default: {
          const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
          return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
        }
      }
    }
    void reset() const { sqlite3_reset(statement_); }
    sqlite3_stmt* get() const { return statement_; }

   private:
    int bind_value(int parameter, std::monostate) const { return sqlite3_bind_null(statement_, parameter); }
    int bind_value(int parameter, bool value) const {
      return sqlite3_bind_int(statement_, parameter, value ? 1 : 0);
    }
    int bind_value(int parameter, std::int64_t value) const {
      return sqlite3_bind_int64(statement_, parameter, value);
    }
    int bind_value(int parameter, double value) const {
      return std::isfinite(value) ? sqlite3_bind_double(statement_, parameter, value)
                                  : sqlite3_bind_null(statement_, parameter);
    }
    int bind_value(int parameter, const std::string& value) const {
      return sqlite3_bind_text(statement_, parameter, value.data(), static_cast<int>(value.size()),
                               SQLITE_TRANSIENT);
    }

    Connection& connection_;
    sqlite3_stmt* statement_ = nullptr;
  };

  const std::string& path() const { return path_; }

  [[noreturn]] void fail() const {
    const int code = database_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(database_);
    const int system_error = database_ == nullptr ? 0 : sqlite3_system_errno(database_);
    if (const int number = error_number_of(code, system_error); number != 0)
      throw FileError(path_, number, failure_);
    if ((code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_ERROR)
      throw UnusableFileError(path_, "a database of packsim sweep", sqlite3_errmsg(database_));
    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
      throw std::invalid_argument(path_ +
                                  ": expected a database that nobody else writes to, got one that is locked");
    throw std::runtime_error(fmt::format("{}: SQLite: {}", path_, sqlite3_errmsg(database_)));
  }

 private:
  // SQLite's own locks do not last from one transaction to the next. This one ends with the process.
  static FileDescriptor locked(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
    if (!file.is_open()) throw FileError(path, errno, "cannot write the sweep");
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) throw FileError(path, errno, "cannot lock");
      throw std::invalid_argument(path +
                                  ": expected no other sweep that writes to it, got one that is running");
    }
    return file;
  }

  std::string path_;
  const char* failure_;
  FileDescriptor lock_;  // closed after the database: closing any descriptor of a file drops SQLite's locks
  sqlite3* database_ = nullptr;
};

namespace {

std::string table_sql(const std::vector<PointColumn>& columns) {
  std::string sql = "CREATE TABLE points (point INTEGER PRIMARY KEY";
  for (const PointColumn& column : columns)
    sql += fmt::format(", {} {}", quoted_name(column.name), column.type);
  return sql + ")";
}

std::string insert_sql(const std::vector<PointColumn>& columns) {
  std::string sql = "INSERT INTO points VALUES (?";
  for (std::size_t c = 0; c < columns.size(); ++c) sql += ", ?";
  return sql + ")";
}

// Shortens a text that may be long to the part that tells it from another.
std::string shown(const std::string& text) {
  constexpr std::size_t kMost = 200;
  return printable(text.size() > kMost ? text.substr(0, kMost) + "..." : text);
}

UnusableFileError mismatch(const std::string& path, const std::string& fact, const std::string& known,
                           const std::string& value) {
  if (fact == kVersionFact)
    return {path, fmt::format("points of packsim {}, which is this one", value),
            fmt::format("points of packsim {}: two versions may compute different ones. Go on with that "
                        "packsim, or compute all points anew into another file",
                        shown(known))};
  return {path, "the sweep of this grid",
          fmt::format("another one: its {} is {}, this one's {}", fact, shown(known), shown(value))};
}

}  // namespace

// Whether the database is new. Throws unless it is of a sweep with these facts.
bool SweepDatabase::is_new(Connection& connection, const SweepFacts& facts) {
  const std::string& path = connection.path();
  const auto tables = connection.select("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  if (tables.empty()) return true;
  if (tables != std::vector<std::vector<Value>>{{"points"}, {"sweep"}})
    throw UnusableFileError(path, "a database of packsim sweep", "another database");
  for (const auto& [fact, value] : facts) {
    const Connection::Statement statement(connection, "SELECT value FROM sweep WHERE fact = ?");
    statement.bind(1, fact);
    const Value held = statement.step() ? statement.value(0) : Value("none");
    const std::string known = std::holds_alternative<std::string>(held) ? std::get<std::string>(held) : "";
    if (known != value) throw mismatch(path, fact, known, value);
  }
  return false;
}

SweepDatabase::SweepDatabase(const std::string& path, const SweepFacts& facts,
                             std::vector<PointColumn> columns)
    : connection_(std::make_unique<Connection>(path)), facts_(facts), columns_(std::move(columns)) {
  facts_.insert(facts_.begin(), {"format", kFormat});
  const bool makes = is_new(*connection_, facts_);
  if (!connection_->set_journal("WAL")) connection_->fail();
  connection_->execute("PRAGMA synchronous = NORMAL");
  if (!makes) return;
  connection_->execute(
      "BEGIN IMMEDIATE; CREATE TABLE sweep (fact TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID");
  {
    const Connection::Statement insert(*connection_, "INSERT INTO sweep VALUES (?, ?)");
    for (const auto& [fact, value] : facts_) {
      insert.bind(1, fact);
      insert.bind(2, value);
      insert.step();
      insert.reset();
    }
  }
  connection_->execute(table_sql(columns_));
  connection_->execute("COMMIT");
}

SweepDatabase::SweepDatabase(const std::string& path) {
  require_file(path);
  connection_ = std::make_unique<Connection>(path, true);
}

void SweepDatabase::merge(const std::string& path) {
  require_file(path);
  Connection other(path);
  SweepFacts facts = facts_;
  std::erase_if(facts, [](const auto& fact) { return fact.first == kShardFact; });
  if (is_new(other, facts)) return;  // its sweep ended before it had a row
  const std::vector<std::size_t> known = known_points();
  std::int64_t last = -1;
  for (;;) {
    const auto found = other.select(
        fmt::format("SELECT * FROM points WHERE point > {} ORDER BY point LIMIT {}", last, kMergedRows));
    if (found.empty()) return;
    std::vector<PointRow> rows;
    for (const std::vector<Value>& values : found) {
      last = std::get<std::int64_t>(values.front());
      const auto point = static_cast<std::size_t>(last);
      if (!std::ranges::binary_search(known, point))
        rows.push_back({point, {values.begin() + 1, values.end()}});
    }
    add(rows);
  }
}

SweepDatabase::~SweepDatabase() = default;

std::vector<std::size_t> SweepDatabase::known_points() {
  std::vector<std::size_t> points;
  for (const auto& row : select("SELECT point FROM points ORDER BY point"))
    points.push_back(static_cast<std::size_t>(std::get<std::int64_t>(row.front())));
  return points;
}

std::vector<std::vector<Value>> SweepDatabase::select(const std::string& sql) {
  return connection_->select(sql);
}

void SweepDatabase::add(std::span<const PointRow> rows) {
  connection_->execute("BEGIN IMMEDIATE");
  try {
    const Connection::Statement insert(*connection_, insert_sql(columns_));
    for (const PointRow& row : rows) {
      insert.bind(1, static_cast<std::int64_t>(row.point));
      for (std::size_t c = 0; c < row.values.size(); ++c) insert.bind(static_cast<int>(c) + 2, row.values[c]);
      insert.step();
      insert.reset();
    }
    connection_->execute("COMMIT");
  } catch (...) {
    try {
      connection_->execute("ROLLBACK");
    } catch (const std::exception&) {  // SQLite has rolled back already
    }
    throw;
  }
}

void SweepDatabase::close() {
  connection_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
  // Where somebody goes on reading, the rows are in the file all the same; SQLite removes those beside it
  // when the last one has closed it.
  connection_->set_journal("DELETE");
}

}  // namespace packsim
