#include "plan_files/plan_view.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "files/file_bytes.hpp"
#include "plan_files/section_reader.hpp"

namespace packsim {

PlanView::PlanView(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                   const std::string& name)
    : owner_(std::move(owner)), name_(name), bytes_(bytes) {
  SectionReader reader(bytes, name);
  content_hash_ = reader.header().content_hash;
  const std::span<const char> facts = reader.read<char>(plan_sections::kFacts);
  tables_.groups = reader.read<PlanGroup>(plan_sections::kGroups);
  tables_.iterations = reader.read<PlanIteration>(plan_sections::kIterations);
  tables_.placed = reader.read<PlanPlacedPack>(plan_sections::kPlaced);
  tables_.weights = reader.read<double>(plan_sections::kWeights);
  tables_.pack_offsets = reader.read<std::uint64_t>(plan_sections::kPackOffsets);
  tables_.pack_items = reader.read<std::uint32_t>(plan_sections::kPackItems);
  tables_.lengths_tokens = reader.read<std::int32_t>(plan_sections::kLengths);
  tables_.piece_samples = reader.read<std::uint32_t>(plan_sections::kPieceSamples, true);
  tables_.piece_starts = reader.read<std::int32_t>(plan_sections::kPieceStarts, true);
  tables_.loss_tokens = reader.read<std::int32_t>(plan_sections::kLossTokens, true);
  reader.throw_if_any();
  try {
    tables_.facts = facts_from_json({facts.data(), facts.size()});
  } catch (const std::invalid_argument& error) {
    reader.add(error.what());
  }
  reader.throw_if_any();
  for (const std::string& mistake : table_mistakes(tables_)) reader.add(mistake);
  reader.throw_if_any();
}

void PlanView::check() const {
  if (is_checked_->load()) return;
  std::string mistakes;
  for (const std::string& mistake : broken_promises(tables_))
    mistakes += (mistakes.empty() ? "" : "\n") + name_ + ": " + mistake;
  if (!mistakes.empty()) throw PlanFileError(mistakes);
  is_checked_->store(true);
}

PlanView PlanView::open(const std::string& path) {
  const RegularFile file(path);
  std::array<std::byte, sizeof(PlanHeader)> start;
  read_header(file.read_start(start), file.size_bytes(), path);
  auto content = std::make_shared<const FileBytes>(file);
  const std::span<const std::byte> bytes = content->bytes();
  return PlanView(std::move(content), bytes, path);
}

PlanView PlanView::of_bytes(std::vector<std::byte> bytes, const std::string& name) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view(*owner);
  return PlanView(std::move(owner), view, name);
}

}  // namespace packsim
