#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan_files/plan_layout.hpp"

namespace packsim::testing {

using Bytes = std::vector<std::byte>;

/// Makes the hashes of a file true again, as somebody would who writes plans himself.
inline void rehash(Bytes& file) {
  PlanHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  header.file_bytes = file.size();
  header.content_hash = XXH3_64bits(file.data() + sizeof(header), file.size() - sizeof(header));
  header.header_hash = XXH3_64bits(&header, offsetof(PlanHeader, header_hash));
  std::memcpy(file.data(), &header, sizeof(header));
}

inline PlanSection& section_of(Bytes& file, std::string_view name) {
  auto* const sections = reinterpret_cast<PlanSection*>(file.data() + sizeof(PlanHeader));
  for (std::size_t i = 0; i < 16; ++i) {
    if (name == sections[i].name.data()) return sections[i];
  }
  throw std::invalid_argument("no section " + std::string(name));
}

/// Makes a section `n_elements` long, and what lies behind it begin later or earlier: the file as it would be
/// written with that section. New bytes are zero.
inline void resize_section(Bytes& file, std::string_view name, std::size_t n_elements) {
  auto* const sections = reinterpret_cast<PlanSection*>(file.data() + sizeof(PlanHeader));
  PlanHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  std::vector<PlanSection> table(sections, sections + header.n_sections);
  Bytes result(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(sizeof(header) +
                                                                        table.size() * sizeof(PlanSection)));
  for (PlanSection& section : table) {
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(section.offset_bytes);
    Bytes content(begin, begin + static_cast<std::ptrdiff_t>(section.n_elements * section.element_bytes));
    if (name == section.name.data()) {
      section.n_elements = n_elements;
      content.resize(n_elements * section.element_bytes);
    }
    result.resize((result.size() + kSectionAlignment_bytes - 1) / kSectionAlignment_bytes *
                  kSectionAlignment_bytes);
    section.offset_bytes = result.size();
    result.insert(result.end(), content.begin(), content.end());
  }
  std::memcpy(result.data() + sizeof(header), table.data(), table.size() * sizeof(PlanSection));
  file = std::move(result);
}

/// Element `index` of a section.
template <typename Element>
Element& element(Bytes& file, std::string_view name, std::size_t index) {
  return reinterpret_cast<Element*>(file.data() + section_of(file, name).offset_bytes)[index];
}

/// Puts another text in the place of one in the facts.
inline void replace_in_facts(Bytes& file, const std::string& from, const std::string& to) {
  const auto text_at = [&] {
    return reinterpret_cast<char*>(file.data() + section_of(file, plan_sections::kFacts).offset_bytes);
  };
  std::string text(text_at(), section_of(file, plan_sections::kFacts).n_elements);
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::invalid_argument("no such fact: " + from);
  text.replace(at, from.size(), to);
  resize_section(file, plan_sections::kFacts, text.size());
  std::memcpy(text_at(), text.data(), text.size());
}

}  // namespace packsim::testing
