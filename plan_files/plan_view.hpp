#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "plan_files/plan_tables.hpp"

namespace packsim {

/// A file that is no plan, or a damaged one: what() has its name and the reasons.
class PlanFileError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A plan, read where it lies: `plan->groups`. Copies share the bytes.
class PlanView {
 public:
  /// Maps a file. Its length, both of its hashes, and every number that points somewhere are checked: what
  /// opens can be read without further checks. The file must not be changed while it is mapped; write_file()
  /// never does that.
  ///
  /// Throws PlanFileError, and FileError where the system will not open or map it.
  static PlanView open(const std::string& path);

  /// The same of bytes in memory. name: for errors.
  static PlanView of_bytes(std::vector<std::byte> bytes, const std::string& name = "plan");

  const PlanTables* operator->() const { return &tables_; }
  const PlanTables& operator*() const { return tables_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Of all bytes behind the header: what tells plans apart.
  std::uint64_t content_hash() const { return content_hash_; }
  /// The file, for errors.
  const std::string& name() const { return name_; }
  /// What keeps the bytes.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  PlanView(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, const std::string& name);

  std::shared_ptr<const void> owner_;
  std::string name_;
  std::span<const std::byte> bytes_;
  std::uint64_t content_hash_ = 0;
  PlanTables tables_;
};

}  // namespace packsim
