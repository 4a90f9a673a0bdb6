#include "plan_files/section_reader.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "plan_files/hex.hpp"
#include "plan_files/plan_view.hpp"

namespace packsim {
namespace {

std::string_view name_of(const PlanSection& section) {
  return {section.name.data(),
          static_cast<std::size_t>(std::ranges::find(section.name, '\0') - section.name.begin())};
}

}  // namespace

SectionReader::SectionReader(std::span<const std::byte> bytes, const std::string& name)
    : bytes_(bytes), name_(name) {
  const auto refuse = [&](const std::string& place, const std::string& expected, const std::string& got) {
    throw PlanFileError(name_ + ": " + place + ": expected " + expected + ", got " + got);
  };
  const std::string n_bytes = std::to_string(bytes.size());
  if (bytes.size() < sizeof(PlanHeader)) {
    const std::size_t n = std::min(bytes.size(), kPlanMagic.size());
    if (n == 0 || std::memcmp(bytes.data(), kPlanMagic.data(), n) != 0)
      refuse("header", "a plan file", "a file of " + n_bytes + " other bytes");
    refuse("header", "at least " + std::to_string(sizeof(PlanHeader)) + " bytes",
           n_bytes + ": the file is truncated");
  }
  std::memcpy(&header_, bytes.data(), sizeof(header_));
  if (header_.magic != kPlanMagic) refuse("header", "a plan file (magic PKSMPLAN)", "another kind of file");
  if (header_.endian_mark != kEndianMark)
    refuse("header: endian_mark", "little-endian numbers (01020304)", hex(header_.endian_mark).substr(8));
  if (header_.version != kPlanVersion) {
    refuse("header: version", std::to_string(kPlanVersion) + ", which this packsim reads",
           std::to_string(header_.version));
  }
  const std::uint64_t header_hash = XXH3_64bits(&header_, offsetof(PlanHeader, header_hash));
  if (header_hash != header_.header_hash)
    refuse("header: header_hash", hex(header_hash), hex(header_.header_hash) + ": the header is damaged");
  if (header_.file_bytes != bytes.size()) {
    refuse("header: file_bytes", std::to_string(header_.file_bytes) + " bytes",
           n_bytes + (bytes.size() < header_.file_bytes ? ": the file is truncated"
                                                        : ": something was added behind its end"));
  }
  const std::uint64_t content_hash =
      XXH3_64bits(bytes.data() + sizeof(PlanHeader), bytes.size() - sizeof(PlanHeader));
  if (content_hash != header_.content_hash)
    refuse("header: content_hash", hex(header_.content_hash), hex(content_hash) + ": the file is damaged");

  // From here on the file is as somebody wrote it, who may have been wrong.
  const std::uint64_t room = bytes.size() - sizeof(PlanHeader);
  if (header_.n_sections > room / sizeof(PlanSection))
    refuse("header: n_sections", "as many as there is room for", std::to_string(header_.n_sections));
  sections_.resize(header_.n_sections);
  std::memcpy(sections_.data(), bytes.data() + sizeof(PlanHeader), sections_.size() * sizeof(PlanSection));
  for (const PlanSection& section : sections_) {
    const std::uint64_t begin = section.offset_bytes;
    const bool is_inside = begin % kSectionAlignment_bytes == 0 && begin <= bytes.size() &&
                           section.element_bytes > 0 &&
                           section.n_elements <= (bytes.size() - begin) / section.element_bytes;
    if (!is_inside) refuse("section " + std::string(name_of(section)), "one inside the file", "one outside");
  }
}

std::span<const std::byte> SectionReader::find(std::string_view name, std::size_t element_bytes,
                                               bool is_optional) {
  const auto section =
      std::ranges::find_if(sections_, [&](const PlanSection& one) { return name_of(one) == name; });
  const std::string place = "section " + std::string(name);
  if (section == sections_.end()) {
    if (!is_optional) add(place, "one in the file", "none");
    return {};
  }
  if (section->element_bytes != element_bytes) {
    add(place, "elements of " + std::to_string(element_bytes) + " bytes",
        std::to_string(section->element_bytes));
    return {};
  }
  return bytes_.subspan(section->offset_bytes, section->n_elements * element_bytes);
}

void SectionReader::add(const std::string& place, const std::string& expected, const std::string& got) {
  add(place + ": expected " + expected + ", got " + got);
}

void SectionReader::add(const std::string& mistake) {
  mistakes_ += (mistakes_.empty() ? "" : "\n") + name_ + ": " + mistake;
}

void SectionReader::throw_if_any() const {
  if (!mistakes_.empty()) throw PlanFileError(mistakes_);
}

}  // namespace packsim
