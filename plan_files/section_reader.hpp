#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plan_files/plan_layout.hpp"

namespace packsim {

/// The header of a file of `file_bytes` bytes that begins with `start`, checked. A file that is no plan, or
/// not a whole one, needs not be read any further. Throws PlanFileError.
PlanHeader read_header(std::span<const std::byte> start, std::uint64_t file_bytes, const std::string& name);

/// The header and the sections of a plan file. Collects what is wrong with them.
class SectionReader {
 public:
  /// Checks everything that can be said without knowing the sections: magic, version, lengths, hashes, that
  /// every section has a name and a place of its own inside the file, and that all other bytes are zero.
  /// Throws PlanFileError: what fails there hides the rest.
  SectionReader(std::span<const std::byte> bytes, const std::string& name);

  const PlanHeader& header() const { return header_; }

  /// The elements of a section. A section that is not there is a mistake, or empty where it is optional.
  template <typename Element>
  std::span<const Element> read(std::string_view name, bool is_optional = false) {
    static_assert(std::is_trivially_copyable_v<Element>);
    const std::span<const std::byte> content = find(name, sizeof(Element), is_optional);
    if (content.empty()) return {};
    return {reinterpret_cast<const Element*>(content.data()), content.size() / sizeof(Element)};
  }

  /// Adds a mistake: place, what was expected and what came.
  void add(const std::string& place, const std::string& expected, const std::string& got);
  /// Adds what somebody else has worded.
  void add(const std::string& mistake);
  void throw_if_any() const;

 private:
  void read_table();
  void check_names() const;
  void check_places() const;
  void expect_zeros(std::uint64_t begin, std::uint64_t end) const;
  std::span<const std::byte> find(std::string_view name, std::size_t element_bytes, bool is_optional);

  std::span<const std::byte> bytes_;
  std::string name_;
  PlanHeader header_;
  std::vector<PlanSection> sections_;
  std::string mistakes_;
};

}  // namespace packsim
