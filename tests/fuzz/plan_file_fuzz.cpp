// Any bytes, with true checksums: what opens and passes the complete check is a true plan by a naive check,
// too.

#include <xxhash.h>

#include <cstring>

#include "plan_files/plan_layout.hpp"
#include "plan_files/plan_view.hpp"
#include "tests/fuzz/naive_plan.hpp"

namespace {

using packsim::PlanHeader;

// Makes true what changes with every byte of a file, and which no fuzzer would guess.
void repair(std::vector<std::byte>& file) {
  if (file.size() < sizeof(PlanHeader)) file.resize(sizeof(PlanHeader));
  PlanHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  header.magic = packsim::kPlanMagic;
  header.version = packsim::kPlanVersion;
  header.endian_mark = packsim::kEndianMark;
  header.reserved = {};
  header.file_bytes = file.size();
  header.content_hash = XXH3_64bits(file.data() + sizeof(header), file.size() - sizeof(header));
  header.header_hash = XXH3_64bits(&header, offsetof(PlanHeader, header_hash));
  std::memcpy(file.data(), &header, sizeof(header));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(begin, begin + n_bytes);
  repair(file);
  try {
    const packsim::PlanView plan = packsim::PlanView::of_bytes(std::move(file));
    plan.check();
    packsim::testing::NaivePlan(plan).check();
  } catch (const packsim::PlanFileError&) {
    return 0;
  }
  return 0;
}
