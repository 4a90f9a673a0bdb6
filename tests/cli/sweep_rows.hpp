#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace packsim_test {

/// The points of a sweep's database as JSON, in their order.
inline nlohmann::ordered_json rows_of(const std::string& path) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(database, "SELECT * FROM points ORDER BY point", -1, &statement, nullptr) ==
          SQLITE_OK);
  auto rows = nlohmann::ordered_json::array();
  while (sqlite3_step(statement) == SQLITE_ROW) {
    nlohmann::ordered_json row;
    for (int c = 0; c < sqlite3_column_count(statement); ++c) {
      nlohmann::ordered_json& cell = row[sqlite3_column_name(statement, c)];
      switch (sqlite3_column_type(statement, c)) {
        case SQLITE_INTEGER:
          cell = sqlite3_column_int64(statement, c);
          break;
        case SQLITE_FLOAT:
          cell = sqlite3_column_double(statement, c);
          break;
        case SQLITE_TEXT:
          cell = reinterpret_cast<const char*>(sqlite3_column_text(statement, c));
          break;
        default:
          break;
      }
    }
    rows.push_back(std::move(row));
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return rows;
}

}  // namespace packsim_test
