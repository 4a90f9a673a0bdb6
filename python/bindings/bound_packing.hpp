#pragma once

#include "packing/batch_problem.hpp"
#include "packing/pack.hpp"
#include "plan_files/plan_facts.hpp"
#include "python/bindings/bindings.hpp"

namespace packsim::python {

/// A packing, the lengths that it refers to, and what a plan of it says of its making.
struct BoundPacking {
  py::object lengths_tokens;
  Packing packing;
  BatchSetting setting;
  PlanFacts facts;
};

}  // namespace packsim::python
