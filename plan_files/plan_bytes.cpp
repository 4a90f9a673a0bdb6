#include "plan_files/plan_bytes.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "packing/loss/loss_weights.hpp"
#include "plan_files/plan_layout.hpp"
#include "plan_files/restore_plan.hpp"

namespace packsim {
namespace {

// Sections are added first; then the file is laid out, and each is copied or written to its place.
class FileLayout {
 public:
  // The numbers must stay where they are until bytes() is done.
  template <typename Element>
  void add(std::string_view name, std::span<const Element> elements) {
    static_assert(std::is_trivially_copyable_v<Element>);
    PlanSection& section = sections_.emplace_back();
    std::ranges::copy(name, section.name.begin());
    section.n_elements = elements.size();
    section.element_bytes = sizeof(Element);
    contents_.push_back(std::as_bytes(elements));
  }

  std::vector<std::byte> bytes() {
    std::uint64_t end = sizeof(PlanHeader) + sections_.size() * sizeof(PlanSection);
    for (PlanSection& section : sections_) {
      section.offset_bytes = round_up(end);
      end = section.offset_bytes + section.n_elements * section.element_bytes;
    }
    // Appended, so that no byte of a large file is written twice.
    std::vector<std::byte> file;
    file.reserve(end);
    file.resize(sizeof(PlanHeader));
    append(file, std::as_bytes(std::span(sections_)));
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      file.resize(sections_[i].offset_bytes);
      append(file, contents_[i]);
    }
    PlanHeader header;
    header.file_bytes = end;
    header.n_sections = sections_.size();
    header.content_hash = XXH3_64bits(file.data() + sizeof(PlanHeader), end - sizeof(PlanHeader));
    header.header_hash = XXH3_64bits(&header, offsetof(PlanHeader, header_hash));
    std::memcpy(file.data(), &header, sizeof(header));
    return file;
  }

 private:
  static void append(std::vector<std::byte>& file, std::span<const std::byte> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
  }

  static std::uint64_t round_up(std::uint64_t offset) {
    return (offset + kSectionAlignment_bytes - 1) / kSectionAlignment_bytes * kSectionAlignment_bytes;
  }

  std::vector<PlanSection> sections_;
  std::vector<std::span<const std::byte>> contents_;
};

PlanFacts all_facts(const PlanContent& content) {
  PlanFacts facts = content.facts;
  const Schedule& schedule = content.schedule;
  facts.strategy = content.packing.strategy->name;
  if (facts.name.empty()) facts.name = facts.strategy;
  facts.n_gpus = schedule.n_gpus;
  facts.epochs = schedule.epochs;
  facts.counts = content.packing.counts;
  facts.dropped_packs = schedule.dropped_packs;
  facts.dropped_pack_tokens = schedule.dropped_tokens;
  facts.repeated_packs = schedule.repeated_packs;
  facts.repeated_tokens = schedule.repeated_tokens;
  facts.curriculum_iterations = schedule.curriculum_iterations;
  return facts;
}

std::vector<PlanGroup> plan_groups(const PlanContent& content) {
  std::vector<PlanGroup> groups;
  std::uint64_t first_pack = 0;
  for (std::size_t g = 0; g < content.packing.groups.size(); ++g) {
    const GroupPlan& plan = content.schedule.groups[g];
    const SequenceParallelism sequence =
        content.sequence.empty() ? SequenceParallelism{.ulysses = plan.gpus_per_pack} : content.sequence[g];
    if (sequence.gpus_per_pack() != plan.gpus_per_pack)
      throw std::logic_error("sequence: expected as many GPUs as the schedule gives a pack");
    groups.push_back({.capacity_tokens = content.packing.capacities_tokens[g],
                      .first_pack = first_pack,
                      .n_packs = static_cast<std::uint32_t>(content.packing.groups[g].n_packs()),
                      .sp_degree = static_cast<std::uint32_t>(sequence.ulysses),
                      .cp_degree = static_cast<std::uint32_t>(sequence.ring),
                      .gc_layers = static_cast<std::uint32_t>(plan.gc_layers),
                      .micro_batches_per_rank = static_cast<std::uint32_t>(plan.micro_batches_per_rank)});
    first_pack += groups.back().n_packs;
  }
  return groups;
}

// Packs of all groups, one group after the other.
struct AllPacks {
  std::vector<ItemIndex> items;
  std::vector<std::uint64_t> offsets = {0};

  explicit AllPacks(const Packing& packing) {
    items.reserve(packing.lengths_tokens.size());
    offsets.reserve(packing.n_packs() + 1);
    for (const PackSet& packs : packing.groups) {
      const std::uint64_t base = items.size();
      items.insert(items.end(), packs.items.begin(), packs.items.end());
      for (std::size_t p = 1; p < packs.offsets.size(); ++p) offsets.push_back(base + packs.offsets[p]);
    }
  }
};

std::vector<PlanPlacedPack> placed_packs(const Schedule& schedule) {
  std::vector<PlanPlacedPack> placed(schedule.placed.size());
  std::ranges::transform(schedule.placed, placed.begin(), [](const PlacedPack& pack) {
    return PlanPlacedPack{.pack = pack.pack,
                          .first_gpu = pack.first_gpu,
                          .group = pack.group,
                          .round = pack.round,
                          .flags = pack.after_barrier ? PlanPlacedPack::kAfterBarrier : 0};
  });
  return placed;
}

std::vector<std::byte> bytes_of(const PlanTables& tables) {
  const std::string facts = facts_to_json(tables.facts);
  FileLayout file;
  file.add(plan_sections::kFacts, std::span<const char>(facts));
  file.add(plan_sections::kGroups, tables.groups);
  file.add(plan_sections::kIterations, tables.iterations);
  file.add(plan_sections::kPlaced, tables.placed);
  file.add(plan_sections::kWeights, tables.weights);
  file.add(plan_sections::kPackOffsets, tables.pack_offsets);
  file.add(plan_sections::kPackItems, tables.pack_items);
  file.add(plan_sections::kLengths, tables.lengths_tokens);
  if (!tables.piece_samples.empty()) {
    file.add(plan_sections::kPieceSamples, tables.piece_samples);
    file.add(plan_sections::kPieceStarts, tables.piece_starts);
  }
  if (!tables.loss_tokens.empty()) file.add(plan_sections::kLossTokens, tables.loss_tokens);
  return file.bytes();
}

std::vector<PlanIteration> plan_iterations(const Schedule& schedule) {
  std::vector<PlanIteration> iterations(schedule.iterations.size());
  std::ranges::transform(schedule.iterations, iterations.begin(), [](const Iteration& iteration) {
    return PlanIteration{iteration.first_placed, iteration.n_placed};
  });
  return iterations;
}

}  // namespace

std::vector<std::byte> plan_bytes(const PlanContent& content) {
  const Packing& packing = content.packing;
  const LossTokens loss_tokens(packing, content.loss_tokens);
  PlanFacts facts = all_facts(content);
  const Normaliser& normaliser =
      facts.normaliser.empty() ? normalisers().front() : known_normaliser(facts.normaliser);
  facts.normaliser = normaliser.name;

  const std::vector<PlanGroup> groups = plan_groups(content);
  const AllPacks packs(packing);
  const std::vector<PlanPlacedPack> placed = placed_packs(content.schedule);
  const std::vector<PlanIteration> iterations = plan_iterations(content.schedule);
  const std::vector<double> weights =
      loss_weights(content.schedule, count_losses(packing, loss_tokens), normaliser);
  std::vector<std::uint32_t> piece_samples(packing.pieces.size());
  std::vector<std::int32_t> piece_starts(packing.pieces.size());
  std::ranges::transform(packing.pieces, piece_samples.begin(), &Piece::sample_index);
  std::ranges::transform(packing.pieces, piece_starts.begin(), &Piece::start_token);

  return bytes_of({.facts = std::move(facts),
                   .groups = groups,
                   .iterations = iterations,
                   .placed = placed,
                   .weights = weights,
                   .pack_offsets = packs.offsets,
                   .pack_items = packs.items,
                   .lengths_tokens = packing.lengths_tokens,
                   .piece_samples = piece_samples,
                   .piece_starts = piece_starts,
                   .loss_tokens = content.loss_tokens});
}

std::vector<std::byte> plan_bytes_with_normaliser(const PlanView& plan, std::string_view name) {
  const Normaliser& normaliser = known_normaliser(name);
  const RestoredPlan restored = restore_plan(plan);
  const LossTokens loss_tokens(restored.packing, plan->loss_tokens);
  const std::vector<double> weights =
      loss_weights(restored.schedule, count_losses(restored.packing, loss_tokens), normaliser);
  PlanTables tables = *plan;
  tables.facts.normaliser = normaliser.name;
  tables.weights = weights;
  return bytes_of(tables);
}

}  // namespace packsim
