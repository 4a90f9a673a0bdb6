#include "files/version.hpp"
#include "packing/pack.hpp"
#include "python/bindings/bindings.hpp"

PYBIND11_MODULE(_core, module) {
  module.attr("version") = packsim::build_version();
  module.attr("longest_capacity_tokens") = packsim::kLongestCapacityTokens;
  packsim::python::add_tables(module);
  packsim::python::add_lengths(module);
  packsim::python::add_packing(module);
  packsim::python::add_loss_spans(module);
  packsim::python::add_balance(module);
  packsim::python::add_stream_packer(module);
  packsim::python::add_mixing(module);
  packsim::python::add_plan(module);
}
