#include <cstdint>
#include <vector>

#include "packing/schedule/balance_ranks.hpp"
#include "python/bindings/bindings.hpp"
#include "python/bindings/view_of.hpp"

namespace packsim::python {
namespace {

RankBalance balance_arrays(const Array<std::int32_t>& lengths_tokens, std::int64_t n_ranks,
                           std::int64_t token_budget, const Array<double>& costs,
                           std::int64_t linear_weight_tokens) {
  const BalanceRequest request{.lengths_tokens = span_of(lengths_tokens),
                               .n_ranks = n_ranks,
                               .token_budget = token_budget,
                               .costs = span_of(costs),
                               .linear_weight_tokens = linear_weight_tokens};
  const py::gil_scoped_release others_may_run;
  return balance_ranks(request);
}

const RankBalance& balanced(const py::object& self) {
  return self.cast<const RankBalance&>();
}

}  // namespace

void add_balance(py::module_& module) {
  py::class_<RankBalance>(module, "RankBalance")
      .def_readonly("micro_batches_per_rank", &RankBalance::micro_batches_per_rank)
      .def("offsets",
           [](const py::object& self) { return view_of(balanced(self).micro_batches.offsets, self); })
      .def("samples",
           [](const py::object& self) { return view_of(balanced(self).micro_batches.items, self); })
      .def("rank_costs", [](const py::object& self) { return view_of(balanced(self).rank_costs, self); });

  module.attr("linear_weight_tokens") = BalanceRequest{}.linear_weight_tokens;
  module.def("balance", balance_arrays, py::arg("lengths_tokens").noconvert(), py::kw_only(),
             py::arg("n_ranks"), py::arg("token_budget"), py::arg("costs").noconvert(),
             py::arg("linear_weight_tokens"));
}

}  // namespace packsim::python
