#include "plan_files/section_reader.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "plan_files/hex.hpp"
#include "plan_files/plan_view.hpp"

namespace packsim {
namespace {

std::string_view name_of(const PlanSection& section) {
  return {section.name.data(),
          static_cast<std::size_t>(std::ranges::find(section.name, '\0') - section.name.begin())};
}

std::uint64_t end_of(const PlanSection& section) {
  return section.offset_bytes + section.n_elements * section.element_bytes;
}

[[noreturn]] void refuse_file(const std::string& name, const std::string& place, const std::string& expected,
                              const std::string& got) {
  throw PlanFileError(name + ": " + place + ": expected " + expected + ", got " + got);
}

// Later versions may have more than the eleven of this one.
constexpr std::uint64_t kMostSections = 1024;

}  // namespace

PlanHeader read_header(std::span<const std::byte> start, std::uint64_t file_bytes, const std::string& name) {
  const auto refuse = [&](const std::string& place, const std::string& expected, const std::string& got) {
    refuse_file(name, place, expected, got);
  };
  const std::string n_bytes = std::to_string(file_bytes);
  if (start.size() < sizeof(PlanHeader)) {
    const std::size_t n = std::min(start.size(), kPlanMagic.size());
    if (n == 0 || std::memcmp(start.data(), kPlanMagic.data(), n) != 0)
      refuse("header", "a plan file", "a file of " + n_bytes + " other bytes");
    refuse("header", "at least " + std::to_string(sizeof(PlanHeader)) + " bytes",
           n_bytes + ": the file is truncated");
  }
  PlanHeader header;
  std::memcpy(&header, start.data(), sizeof(header));
  if (header.magic != kPlanMagic) refuse("header", "a plan file (magic PKSMPLAN)", "another kind of file");
  if (header.endian_mark != kEndianMark)
    refuse("header: endian_mark", "little-endian numbers (01020304)", hex(header.endian_mark).substr(8));
  if (header.version != kPlanVersion) {
    refuse("header: version", std::to_string(kPlanVersion) + ", which this packsim reads",
           std::to_string(header.version));
  }
  const std::uint64_t header_hash = XXH3_64bits(&header, offsetof(PlanHeader, header_hash));
  if (header_hash != header.header_hash)
    refuse("header: header_hash", hex(header_hash), hex(header.header_hash) + ": the header is damaged");
  if (header.reserved != decltype(header.reserved){}) refuse("header: reserved", "zeros", "other bytes");
  if (header.file_bytes != file_bytes) {
    refuse("header: file_bytes", std::to_string(header.file_bytes) + " bytes",
           n_bytes + (file_bytes < header.file_bytes ? ": the file is truncated"
                                                     : ": something was added behind its end"));
  }
  return header;
}

SectionReader::SectionReader(std::span<const std::byte> bytes, const std::string& name)
    : bytes_(bytes), name_(name), header_(read_header(bytes, bytes.size(), name)) {
  const std::span<const std::byte> content = bytes.subspan(sizeof(PlanHeader));
  const std::uint64_t content_hash = XXH3_64bits(content.data(), content.size());
  if (content_hash != header_.content_hash) {
    refuse_file(name_, "header: content_hash", hex(header_.content_hash),
                hex(content_hash) + ": the file is damaged");
  }
  // The file counts as written from here on; whoever wrote it may have been wrong.
  read_table();
  check_names();
  check_places();
}

void SectionReader::read_table() {
  const std::uint64_t room = bytes_.size() - sizeof(PlanHeader);
  if (header_.n_sections > std::min(room / sizeof(PlanSection), kMostSections)) {
    refuse_file(name_, "header: n_sections",
                "as many as there is room for, and at most " + std::to_string(kMostSections),
                std::to_string(header_.n_sections));
  }
  if (header_.n_sections == 0) return;
  sections_.resize(header_.n_sections);
  std::memcpy(sections_.data(), bytes_.data() + sizeof(PlanHeader), sections_.size() * sizeof(PlanSection));
}

void SectionReader::check_names() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const PlanSection& section = sections_[i];
    const std::string_view name = name_of(section);
    const std::string place = "section " + std::to_string(i);
    const bool is_ended = std::ranges::all_of(section.name.begin() + static_cast<std::ptrdiff_t>(name.size()),
                                              section.name.end(), [](char c) { return c == 0; });
    if (name.empty() || !is_ended)
      refuse_file(name_, place + ": name", "a name, filled up with zeros", "other bytes");
    if (section.reserved != 0)
      refuse_file(name_, place + ": reserved", "0", std::to_string(section.reserved));
    names.push_back(name);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse_file(name_, "section " + std::string(*twice), "one of this name", "two");
}

// Sections in the order of the file, with nothing but zeros before, between and behind them.
void SectionReader::check_places() const {
  std::vector<const PlanSection*> in_order;
  for (const PlanSection& section : sections_) {
    const std::uint64_t begin = section.offset_bytes;
    const bool is_inside = begin % kSectionAlignment_bytes == 0 && begin <= bytes_.size() &&
                           section.element_bytes > 0 &&
                           section.n_elements <= (bytes_.size() - begin) / section.element_bytes;
    if (!is_inside)
      refuse_file(name_, "section " + std::string(name_of(section)), "one inside the file", "one outside");
    if (section.n_elements > 0) in_order.push_back(&section);
  }
  std::ranges::sort(in_order, {}, &PlanSection::offset_bytes);
  const std::uint64_t table_end = sizeof(PlanHeader) + sections_.size() * sizeof(PlanSection);
  std::uint64_t end = table_end;
  for (const PlanSection* section : in_order) {
    if (section->offset_bytes < end) {
      refuse_file(name_, "section " + std::string(name_of(*section)),
                  "one that begins behind the table of sections and the section before it, at " +
                      std::to_string(end) + " or later",
                  std::to_string(section->offset_bytes));
    }
    end = end_of(*section);
  }
  end = table_end;
  for (const PlanSection* section : in_order) {
    expect_zeros(end, section->offset_bytes);
    end = end_of(*section);
  }
  expect_zeros(end, bytes_.size());
}

void SectionReader::expect_zeros(std::uint64_t begin, std::uint64_t end) const {
  const auto bytes = bytes_.subspan(begin, end - begin);
  const auto other = std::ranges::find_if(bytes, [](std::byte byte) { return byte != std::byte{}; });
  if (other == bytes.end()) return;
  refuse_file(name_, "byte " + std::to_string(begin + static_cast<std::uint64_t>(other - bytes.begin())),
              "0 between sections", std::to_string(std::to_integer<int>(*other)));
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
