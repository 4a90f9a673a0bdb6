#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plan_files/plan_layout.hpp"

namespace packsim {

/// The header and the sections of a plan file. Collects what is wrong with them.
class SectionReader {
 public:
  /// Checks everything that can be said without knowing the sections: magic, version, lengths, hashes, and
  /// that every section lies inside the file. Throws PlanFileError: what fails there hides the rest.
  SectionReader(std::span<const std::byte> bytes, const std::string& name);

  const PlanHeader& header() const { return header_; }

  /// The elements of a section. A section that is not there is a mistake, or empty where it is optional.
  template <typename Element>
  std::span<const Element> read(std::string_view name, bool is_optional = false) {
    static_assert(std::is_trivially_copyable_v<Element>);
    const std::span<const std::byte> content = find(name, sizeof(Element), is_optional);
    return {reinterpret_cast<const Element*>(content.data()), content.size() / sizeof(Element)};
  }

  /// Adds a mistake: place, what was expected and what came.
  void add(const std::string& place, const std::string& expected, const std::string& got);
  /// Adds what somebody else has worded.
  void add(const std::string& mistake);
  void throw_if_any() const;

 private:
  std::span<const std::byte> find(std::string_view name, std::size_t element_bytes, bool is_optional);

  std::span<const std::byte> bytes_;
  std::string name_;
  PlanHeader header_;
  std::vector<PlanSection> sections_;
  std::string mistakes_;
};

}  // namespace packsim
