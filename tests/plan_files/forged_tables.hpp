#pragma once

#include <algorithm>
#include <cmath>

#include "tests/plan_files/forged_plans.hpp"

namespace packsim::testing {

inline std::vector<ForgeryRule> forged_placed() {
  const auto dealt = [](const std::function<void(Forgery&)>& forge) {
    return [=](Forgery& plan) {
      if (plan.is_planned() || plan.before->placed.empty()) return false;
      forge(plan);
      return true;
    };
  };
  return {
      {"every pack is pack 0", "placed.pack[",
       [](Forgery& plan) {
         for (std::size_t i = 0; i < plan.before->placed.size(); ++i) plan.placed(i).pack = 0;
         return true;
       }},
      {"a pack is trained twice in an iteration, another not", "pack",
       [](Forgery& plan) {
         const auto placed = plan.before->placed;
         if (placed[0].group != placed[1].group || placed[0].pack == placed[1].pack) return false;
         plan.placed(1).pack = placed[0].pack;
         return true;
       }},
      {"a pack is not there", "placed.pack[0]: expected one of ",
       [](Forgery& plan) {
         plan.placed(0).pack = ~0U;
         return true;
       }},
      {"a group is not there", "placed.group[0]: expected one of ",
       [](Forgery& plan) {
         plan.placed(0).group = 0xFFFF;
         return true;
       }},
      {"a pack lies on GPUs that are not there", "placed.first_gpu[0]: expected a multiple of ",
       [](Forgery& plan) {
         plan.placed(0).first_gpu = 1U << 31;
         return true;
       }},
      {"two packs share a GPU in a round", "expected a GPU without another pack in the round",
       [](Forgery& plan) {
         const auto placed = plan.before->placed;
         if (placed[0].round != placed[1].round || placed[0].group != placed[1].group) return false;
         plan.placed(1).first_gpu = placed[0].first_gpu;
         return true;
       }},
      {"packs of a round are exchanged", "placed.first_gpu[0]: expected 0, as packs are dealt",
       dealt([](Forgery& plan) { std::swap(plan.placed(0).first_gpu, plan.placed(1).first_gpu); })},
      {"the last round comes later", "placed.round[",
       dealt([](Forgery& plan) { ++plan.placed(plan.before->iterations[0].n_placed - 1U).round; })},
      {"a round comes before the one before", "placed.round[",
       dealt([](Forgery& plan) { plan.placed(0).round = 9; })},
      {"ranks wait where they do not", "placed.flags[0]: expected 0",
       dealt([](Forgery& plan) { plan.placed(0).flags = 1; })},
      {"GPUs wait in the first round", "placed.flags[0]: expected ",
       [](Forgery& plan) {
         plan.placed(0).flags = 1;
         return true;
       }},
      {"one pack of a round waits for the others, another does not", "placed.flags[",
       [](Forgery& plan) {
         const auto placed = plan.before->placed;
         for (std::size_t i = 1; i < plan.before->iterations[0].n_placed; ++i) {
           if (placed[i].round == 0 || placed[i].round != placed[i - 1].round) continue;
           plan.placed(i).flags = 1 - placed[i].flags;
           return true;
         }
         return false;
       }},
      {"a flag that nobody knows", "placed.flags[0]: expected 0 or 1, got 2",
       [](Forgery& plan) {
         plan.placed(0).flags = 2;
         return true;
       }},
      {"an epoch repeats an iteration of another", "expected ",
       [](Forgery& plan) {
         if (plan.facts().epochs < 2 || plan.before->iterations_per_epoch() < 2) return false;
         plan.iteration(0) = plan.before->iterations[1];
         return true;
       }},
      {"the shorter iteration comes first", "whole iterations before shorter ones",
       [](Forgery& plan) {
         const auto n = static_cast<std::size_t>(plan.before->iterations_per_epoch());
         const auto all = plan.before->iterations;
         if (plan.is_planned() || all[0].n_placed <= all[n - 1].n_placed) return false;
         plan.iteration(0) = all[n - 1];
         plan.iteration(n - 1) = all[0];
         return true;
       }},
      {"an iteration goes on into the next one", "expected ",
       [](Forgery& plan) {
         ++plan.iteration(0).n_placed;
         return true;
       }},
      {"an iteration begins behind all packs", "iterations[0]: expected packs of ",
       [](Forgery& plan) {
         plan.iteration(0).first_placed = ~0U;
         return true;
       }},
  };
}

inline std::vector<ForgeryRule> forged_weights() {
  std::vector<ForgeryRule> rules;
  const auto add = [&](const std::string& name, double (*change)(double)) {
    rules.push_back({"a weight is " + name, "weights[", [=](Forgery& plan) {
                       for (std::size_t i = 0; i < plan.before->weights.size(); ++i) {
                         if (plan.weight(i) == 0) continue;
                         plan.weight(i) = change(plan.weight(i));
                         return true;
                       }
                       return false;
                     }});
  };
  add("0", [](double) { return 0.0; });
  add("1e308", [](double) { return 1e308; });
  add("infinite", [](double) { return HUGE_VAL; });
  add("no number", [](double) { return std::nan(""); });
  add("negative", [](double weight) { return -weight; });
  add("a millionth larger", [](double weight) { return weight * (1 + 1e-6); });
  add("half", [](double weight) { return weight / 2; });
  add("denormal", [](double) { return 5e-324; });
  rules.push_back({"the last weight is half", "weights[", [](Forgery& plan) {
                     const std::size_t last = plan.before->weights.size() - 1;
                     plan.weight(last) /= 2;
                     return plan.weight(last) > 0;
                   }});
  return rules;
}

inline std::vector<ForgeryRule> forged_packs() {
  const auto cut = [](const std::function<void(Forgery&)>& forge) {
    return [=](Forgery& plan) {
      if (!plan.is_cut()) return false;
      forge(plan);
      return true;
    };
  };
  const auto of_group = [](const std::function<void(PlanGroup&)>& change) {
    return [=](Forgery& plan) {
      change(plan.group(0));
      return true;
    };
  };
  return {
      {"an item is in two packs", "pack_items[",
       [](Forgery& plan) {
         auto& item = plan.at<std::uint32_t>(plan_sections::kPackItems, 1);
         item = plan.before->pack_items[0];
         return true;
       }},
      {"an item is in no pack", " in ",
       [](Forgery& plan) {
         const auto offsets = plan.before->pack_offsets;
         const std::size_t last = offsets.size() - 1;
         if (offsets[last] - offsets[last - 1] < 2) return false;
         resize_section(plan.file, plan_sections::kPackItems, plan.before->pack_items.size() - 1);
         --plan.at<std::uint64_t>(plan_sections::kPackOffsets, last);
         return true;
       }},
      {"more items than there are", "pack_items: expected ",
       [](Forgery& plan) {
         resize_section(plan.file, plan_sections::kPackItems, plan.before->lengths_tokens.size() + 1);
         return true;
       }},
      {"packs hold more than their length", "expected at most 1 tokens",
       of_group([](PlanGroup& group) { group.capacity_tokens = 1; })},
      {"a pack length of nothing", "groups.capacity_tokens[0]: expected 1..16777216",
       of_group([](PlanGroup& group) { group.capacity_tokens = 0; })},
      {"a pack length beyond all", "groups.capacity_tokens[0]: expected 1..16777216",
       of_group([](PlanGroup& group) { group.capacity_tokens = std::int64_t{1} << 40; })},
      {"a group has reserved bytes", "groups.reserved[0]: expected 0",
       of_group([](PlanGroup& group) { group.reserved = 1; })},
      {"a group recomputes more layers than there can be", "groups.gc_layers[0]",
       of_group([](PlanGroup& group) { group.gc_layers = 1U << 31; })},
      {"a group has too many micro-batches", "groups.micro_batches_per_rank[0]",
       of_group([](PlanGroup& group) { group.micro_batches_per_rank = 1U << 30; })},
      {"a group has more packs than there are", "pack_offsets: expected ",
       of_group([](PlanGroup& group) { group.n_packs = ~0U; })},
      {"packs on more GPUs than there are", "groups.sp_degree * cp_degree[0]",
       of_group([](PlanGroup& group) { group.sp_degree = group.cp_degree = ~0U; })},
      {"packs on 3 of 4 GPUs", "groups.sp_degree * cp_degree[0]",
       of_group([](PlanGroup& group) { group.sp_degree = 3; })},
      {"iterations have fewer packs than said", "expected ",
       [](Forgery& plan) {
         if (plan.is_planned()) return false;
         ++plan.group(0).micro_batches_per_rank;
         return true;
       }},
      {"a length is a token more", "expected ",
       [](Forgery& plan) {
         ++plan.length(0);
         return true;
       }},
      {"a length is a token less", "expected ",
       [](Forgery& plan) {
         --plan.length(0);
         return true;
       }},
      {"a length is 2^31 - 1", "expected ",
       [](Forgery& plan) {
         plan.length(0) = 2147483647;
         return true;
       }},
      {"two lengths are exchanged", "lengths_hash",
       [](Forgery& plan) {
         const auto lengths = plan.before->lengths_tokens;
         if (plan.is_cut() || lengths[0] == lengths[1] || !plan.before->loss_tokens.empty()) return false;
         std::swap(plan.length(0), plan.length(1));
         return true;
       }},
      {"loss tokens are more than the item has", "loss_tokens[0]",
       [](Forgery& plan) {
         if (plan.before->loss_tokens.empty()) return false;
         plan.at<std::int32_t>(plan_sections::kLossTokens, 0) = 2147483647;
         return true;
       }},
      {"loss tokens are others", "weights[",
       [](Forgery& plan) {
         const auto losses = plan.before->loss_tokens;
         if (losses.empty()) return false;
         for (const std::uint32_t item : plan.before->items(plan.before->placed[0])) {
           if (losses[item] < 5) continue;
           plan.at<std::int32_t>(plan_sections::kLossTokens, item) -= 5;
           return true;
         }
         return false;
       }},
      {"a piece begins later", "piece_starts[3]",
       cut([](Forgery& plan) { ++plan.at<std::int32_t>(plan_sections::kPieceStarts, 3); })},
      {"a piece comes twice", "piece_starts[1]", cut([](Forgery& plan) {
         plan.at<std::uint32_t>(plan_sections::kPieceSamples, 1) = plan.before->piece_samples[0];
         plan.at<std::int32_t>(plan_sections::kPieceStarts, 1) = plan.before->piece_starts[0];
       })},
      {"pieces are of earlier samples", "piece_samples[", cut([](Forgery& plan) {
         plan.at<std::uint32_t>(plan_sections::kPieceSamples, 0) = plan.before->piece_samples.back();
       })},
      {"a piece has no tokens", "expected ", cut([](Forgery& plan) { plan.length(2) = 0; })},
      {"a piece is of a sample that is not there", "piece_samples[0]",
       cut([](Forgery& plan) { plan.at<std::uint32_t>(plan_sections::kPieceSamples, 0) = ~0U; })},
  };
}

inline std::vector<ForgeryRule> forged_layouts() {
  const auto of_section = [](std::string_view name, const std::function<void(PlanSection&)>& change) {
    return [=](Forgery& plan) {
      change(section_of(plan.file, name));
      return true;
    };
  };
  namespace sections = plan_sections;
  return {
      {"two sections overlap", "one that begins behind the table of sections and the section before it",
       [](Forgery& plan) {
         section_of(plan.file, plan_sections::kPackItems).offset_bytes =
             section_of(plan.file, plan_sections::kLengths).offset_bytes;
         return true;
       }},
      {"a section overlaps the table", "one that begins behind the table of sections",
       of_section(sections::kWeights, [](PlanSection& section) { section.offset_bytes = 64; })},
      {"a section overlaps the header", "one that begins behind the table of sections",
       of_section(sections::kLengths, [](PlanSection& section) { section.offset_bytes = 0; })},
      {"two sections have a name", "section weights: expected one of this name, got two",
       of_section(sections::kIterations, [](PlanSection& section) { section.name = {"weights"}; })},
      {"a name goes on behind its end", "name: expected a name, filled up with zeros",
       of_section(sections::kWeights, [](PlanSection& section) { section.name[30] = 'x'; })},
      {"a section without a name", "name: expected a name",
       of_section(sections::kWeights, [](PlanSection& section) { section.name = {}; })},
      {"a section has reserved bytes", "reserved: expected 0, got 1",
       of_section(sections::kWeights, [](PlanSection& section) { section.reserved = 1; })},
      {"the header has reserved bytes", "header: reserved: expected zeros",
       [](Forgery& plan) {
         plan.header().reserved[1] = 1;
         return true;
       }},
      {"bytes between sections", "0 between sections, got 7",
       [](Forgery& plan) {
         const PlanSection section = section_of(plan.file, plan_sections::kGroups);
         plan.file[section.offset_bytes + section.n_elements * section.element_bytes] = std::byte{7};
         return true;
       }},
      {"bytes behind the last section", "0 between sections, got 9",
       [](Forgery& plan) {
         plan.file.push_back(std::byte{9});
         return true;
       }},
      {"sections without room", "header: n_sections",
       [](Forgery& plan) {
         plan.header().n_sections = ~std::uint64_t{0};
         return true;
       }},
      {"a section more than there is room for", "header: n_sections",
       [](Forgery& plan) {
         plan.header().n_sections = (plan.file.size() - sizeof(PlanHeader)) / sizeof(PlanSection) + 1;
         return true;
       }},
      {"no sections", "section",
       [](Forgery& plan) {
         plan.header().n_sections = 0;
         return true;
       }},
      {"a section of more bytes than 64 bits count", "expected one inside the file",
       of_section(sections::kLengths,
                  [](PlanSection& section) {
                    section.n_elements = section.element_bytes = std::uint64_t{1} << 33;
                  })},
      {"bytes between the table of sections and the first section", "0 between sections, got 5",
       [](Forgery& plan) {
         PlanHeader& header = plan.header();
         auto* const table = reinterpret_cast<PlanSection*>(plan.file.data() + sizeof(PlanHeader));
         for (std::size_t i = 0; i < header.n_sections; ++i) table[i].offset_bytes += kSectionAlignment_bytes;
         const auto end =
             static_cast<std::ptrdiff_t>(sizeof(PlanHeader) + header.n_sections * sizeof(PlanSection));
         plan.file.insert(plan.file.begin() + end, kSectionAlignment_bytes, std::byte{5});
         return true;
       }},
      {"a section begins behind the end of the file", "expected one inside the file",
       [](Forgery& plan) {
         PlanSection& section = section_of(plan.file, plan_sections::kLengths);
         section.n_elements = 0;
         section.offset_bytes = (plan.file.size() / kSectionAlignment_bytes + 1) * kSectionAlignment_bytes;
         return true;
       }},
      {"elements without bytes", "expected one inside the file",
       of_section(sections::kLengths, [](PlanSection& section) { section.element_bytes = 0; })},
  };
}

}  // namespace packsim::testing
