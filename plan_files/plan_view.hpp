#pragma once

#include <atomic>
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

/// A plan, read where it lies: `plan->groups`. Copies share the bytes, and what check() has found.
class PlanView {
 public:
  /// Reads a file, or maps a large one (FileBytes). Its length, both of its hashes, and every number that
  /// points somewhere are checked: what opens can be read without further checks, though not yet believed. A
  /// mapped file must not be changed; write_file() never does that.
  ///
  /// Throws PlanFileError, FileError where the system will not open or read it, and UnusableFileError for
  /// what is no regular file.
  static PlanView open(const std::string& path);

  /// The same of bytes in memory. name: for errors.
  static PlanView of_bytes(std::vector<std::byte> bytes, const std::string& name = "plan");

  /// Throws PlanFileError unless everything that docs/plan_files.md promises is true. Who trains or prices a
  /// plan calls this first. Takes its time once.
  void check() const;

  const PlanTables* operator->() const { return &tables_; }
  const PlanTables& operator*() const { return tables_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The hash of all bytes behind the header tells plans apart.
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
  std::shared_ptr<std::atomic<bool>> is_checked_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace packsim
