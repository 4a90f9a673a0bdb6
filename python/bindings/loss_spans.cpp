#include "packing/loss/loss_spans.hpp"

#include <cstdint>
#include <vector>

#include "python/bindings/bindings.hpp"
#include "python/bindings/bound_packing.hpp"

namespace packsim::python {
namespace {

py::array_t<std::int32_t> of_items(const BoundPacking& bound, const Array<std::int64_t>& offsets,
                                   const Array<std::int32_t>& begins, const Array<std::int32_t>& ends) {
  const LossSpans spans{span_of(offsets), span_of(begins), span_of(ends)};
  const auto lengths_tokens = bound.lengths_tokens.cast<Array<std::int32_t>>();
  std::vector<std::int32_t> loss_tokens;
  {
    const py::gil_scoped_release others_may_run;
    loss_tokens = loss_tokens_of_items(bound.packing, span_of(lengths_tokens), spans);
  }
  return py::array_t<std::int32_t>(static_cast<py::ssize_t>(loss_tokens.size()), loss_tokens.data());
}

void check(const Array<std::int32_t>& lengths_tokens, const Array<std::int64_t>& offsets,
           const Array<std::int32_t>& begins, const Array<std::int32_t>& ends) {
  const LossSpans spans{span_of(offsets), span_of(begins), span_of(ends)};
  const auto lengths = span_of(lengths_tokens);
  const py::gil_scoped_release others_may_run;
  check_loss_spans(spans, lengths);
}

}  // namespace

void add_loss_spans(py::module_& module) {
  module.def("check_loss_spans", check, py::arg("lengths_tokens").noconvert(), py::arg("offsets").noconvert(),
             py::arg("begins").noconvert(), py::arg("ends").noconvert());
  module.def("loss_tokens_of_items", of_items, py::arg("packing"), py::arg("offsets").noconvert(),
             py::arg("begins").noconvert(), py::arg("ends").noconvert());
}

}  // namespace packsim::python
