#pragma once

#include <algorithm>

#include "tests/plan_files/forged_plans.hpp"

namespace packsim::testing {

/// How the iterations of a plan are broken: which there are, and in which order.
inline std::vector<ForgeryRule> forged_orders() {
  // Iterations that are not in the file, nor are their packs in any other.
  const auto no_iterations = [](Forgery& plan) {
    resize_section(plan.file, plan_sections::kIterations, 0);
    resize_section(plan.file, plan_sections::kPlaced, 0);
    resize_section(plan.file, plan_sections::kWeights, 0);
    return true;
  };
  const auto exchange = [](Forgery& plan, std::size_t one, std::size_t other) {
    std::swap(plan.placed(one).pack, plan.placed(other).pack);
  };
  const auto is_balanced = [](const Forgery& plan) {
    return !plan.is_planned() && plan.facts().order == PackOrder::balanced &&
           plan.facts().normaliser == "sum";  // weights are the same in any order
  };
  return {
      {"no iteration at all", " ", no_iterations},
      {"an iteration of every epoch takes a pack of a later one", "as order is balanced",
       [=](Forgery& plan) {
         if (!is_balanced(plan)) return false;
         // The last pack of the first iteration for the last of another of its group: each stays sorted if
         // the other has more work, and then lies between packs of both.
         const auto all = plan.before->iterations;
         const auto n = static_cast<std::size_t>(plan.before->iterations_per_epoch());
         const auto group = [&](std::size_t i) { return plan.before->packs(all[i]).front().group; };
         for (std::size_t i = 1; i < n; ++i) {
           if (group(i) != group(0) || all[i].n_placed != all[0].n_placed) continue;
           exchange(plan, all[0].first_placed + all[0].n_placed - 1U,
                    all[i].first_placed + all[i].n_placed - 1U);
           return true;
         }
         return false;
       }},
      {"two packs of an iteration are exchanged", "packs by ascending attention work",
       [=](Forgery& plan) {
         if (!is_balanced(plan)) return false;
         exchange(plan, 0, 1);
         return plan.before->placed[0].pack != plan.before->placed[1].pack;
       }},
      {"the curriculum has more iterations", "curriculum",
       [](Forgery& plan) {
         if (plan.fact("curriculum_iterations") == 0) return false;
         plan.set_fact("curriculum_iterations", plan.before->iterations_per_epoch() - 1);
         return true;
       }},
      {"the first and the last iteration of the first epoch are exchanged", "curriculum",
       [](Forgery& plan) {
         if (plan.fact("curriculum_iterations") == 0) return false;
         const auto all = plan.before->iterations;
         const auto last = static_cast<std::size_t>(plan.before->iterations_per_epoch()) - 1;
         if (!plan.is_planned() && plan.before->groups.size() > 1) return false;
         std::swap(plan.iteration(0), plan.iteration(last));
         return all[0] != all[last];
       }},
      {"the last iteration of a plan is not there, and its packs are in no other", " ",
       [](Forgery& plan) {
         if (plan.facts().epochs != 2 || !plan.is_planned()) return false;
         // In both epochs, the iteration that begins last; its packs go to the end of the placed ones.
         const auto all = plan.before->iterations;
         const auto last = std::ranges::max(all, {}, &PlanIteration::first_placed);
         std::vector<PlanIteration> others;
         for (const PlanIteration& one : all) {
           if (one != last) others.push_back(one);
         }
         resize_section(plan.file, plan_sections::kIterations, others.size());
         for (std::size_t i = 0; i < others.size(); ++i) plan.iteration(i) = others[i];
         resize_section(plan.file, plan_sections::kPlaced, last.first_placed);
         resize_section(plan.file, plan_sections::kWeights, last.first_placed);
         return true;
       }},
      {"the second epoch begins as the first one", "expected ",
       [](Forgery& plan) {
         const auto n = static_cast<std::size_t>(plan.before->iterations_per_epoch());
         if (plan.facts().epochs < 2 || plan.before->iterations[0] == plan.before->iterations[n])
           return false;
         plan.iteration(n) = plan.before->iterations[0];
         return true;
       }},
      {"a pack of the second epoch is another", "expected ",
       [](Forgery& plan) {
         const auto n = static_cast<std::size_t>(plan.before->iterations_per_epoch());
         if (plan.facts().epochs < 2) return false;
         auto& placed = plan.placed(plan.before->iterations[n].first_placed);
         placed.pack = (placed.pack + 1) % plan.before->groups[placed.group].n_packs;
         return true;
       }},
      {"a pack of the last iteration is of another group", "expected ",
       [](Forgery& plan) {
         if (plan.before->groups.size() < 2 || plan.is_planned()) return false;
         auto& placed = plan.placed(plan.before->placed.size() - 1);
         placed.group = static_cast<std::uint16_t>(1 - placed.group);
         placed.pack = 0;
         return true;
       }},
      {"a pack of a later round waits, and no other of it", "placed.flags[",
       [](Forgery& plan) {
         const auto placed = plan.before->placed;
         for (std::size_t i = 1; i < placed.size(); ++i) {
           if (placed[i].round == 0 || placed[i].round != placed[i - 1].round) continue;
           plan.placed(i).flags = 1 - placed[i].flags;
           return true;
         }
         return false;
       }},
  };
}

}  // namespace packsim::testing
