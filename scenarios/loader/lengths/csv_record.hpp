#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// One record of a CSV file. The views hold until the next one is read.
struct CsvRecord {
  std::vector<std::string_view> fields;  ///< quotes taken off
  std::int64_t line = 0;                 ///< where it starts, from 1
  std::string error;                     ///< what was expected, where the record is not CSV
  std::string got;
  std::deque<std::string> unescaped;  ///< fields with doubled quotes inside
};

/// Cuts text into records as RFC 4180 has it: fields in quotes may hold commas, line ends and doubled quotes.
/// Lines end with LF or CRLF. A quote inside an unquoted field stands for itself.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  /// False at the end. A record that is not CSV has an error and ends with its line.
  bool next(CsvRecord& record);

 private:
  bool read_field(CsvRecord& record);
  bool read_quoted_field(CsvRecord& record);
  void skip_line();

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace packsim
