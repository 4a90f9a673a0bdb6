#pragma once

#include <cstdint>
#include <string>

#include "scenarios/loader/json/problems.hpp"

namespace packsim {

/// The mistakes of a file that may have millions of rows: the first ten, and how many there are.
class BadRows {
 public:
  BadRows(std::string file, Problems& problems) : file_(std::move(file)), problems_(problems) {}
  BadRows(const BadRows&) = delete;
  BadRows& operator=(const BadRows&) = delete;
  ~BadRows();  ///< reports the number, where it is over ten

  const std::string& file() const { return file_; }
  std::int64_t count() const { return count_; }
  void add(std::string place, std::string expected, std::string got);
  /// "line 17".
  void add(std::int64_t line, std::string expected, std::string got);

 private:
  std::string file_;
  Problems& problems_;
  std::int64_t count_ = 0;
};

}  // namespace packsim
