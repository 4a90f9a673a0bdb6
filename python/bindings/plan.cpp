#include "files/version.hpp"
#include "files/write_file.hpp"
#include "packing/loss/loss_bias.hpp"
#include "packing/schedule/schedule.hpp"
#include "plan_files/plan_bytes.hpp"
#include "plan_files/plan_view.hpp"
#include "plan_files/restore_plan.hpp"
#include "python/bindings/bindings.hpp"
#include "python/bindings/bound_packing.hpp"
#include "python/bindings/members.hpp"
#include "python/bindings/policy.hpp"
#include "python/bindings/view_of.hpp"

namespace packsim::python {
namespace {

// The system's refusals are Python's OSError of that number, with the path; so are files that cannot be read
// as they are.
template <typename Call>
auto with_os_errors(const std::string& path, const Call& call) {
  try {
    return call();
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
    throw py::error_already_set();
  } catch (const std::runtime_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
    throw py::error_already_set();
  }
}

PlanView open_plan(const std::string& path) {
  return with_os_errors(path, [&] {
    const py::gil_scoped_release others_may_run;
    return PlanView::open(path);
  });
}

PlanView plan_of_bytes(const py::bytes& bytes) {
  const std::string_view view = bytes;
  const auto* const begin = reinterpret_cast<const std::byte*>(view.data());
  return PlanView::of_bytes({begin, begin + view.size()});
}

struct ScheduleArguments {
  std::vector<int> sp_degrees;  // [n_groups]
  std::vector<int> gc_layers;   // [n_groups]
  ScheduleOptions options;
};

Schedule schedule_of(const BoundPacking& bound, const ScheduleArguments& arguments, Padding padding,
                     std::int64_t pad_multiple_tokens) {
  const Packing& packing = bound.packing;
  std::vector<GroupParallelism> parallelism;
  std::vector<std::vector<MicroBatch>> batches;
  for (std::size_t g = 0; g < packing.groups.size(); ++g) {
    parallelism.push_back({.gpus_per_pack = arguments.sp_degrees[g], .gc_layers = arguments.gc_layers[g]});
    batches.push_back(micro_batches(packing, g, padding, pad_multiple_tokens));
  }
  if (packing.strategy->forms_iterations())
    return make_schedule(packing.planned, batches, parallelism, arguments.options);
  return make_schedule(batches, packing.capacities_tokens, parallelism, arguments.options);
}

PlanView make_plan(const BoundPacking& bound, const py::kwargs& given) {
  const auto integer = [&](const char* key) { return given[key].cast<std::int64_t>(); };
  const auto word = [&](const char* key) { return given[key].cast<std::string>(); };
  PlanFacts facts = bound.facts;
  facts.version = build_version();
  facts.name = word("name");
  facts.normaliser = word("normaliser");
  facts.padding = policy(kPaddingNames, word("padding"));
  facts.pad_multiple_tokens = integer("pad_multiple_tokens");
  facts.order = policy(kPackOrderNames, word("order"));
  facts.last_iteration = policy(kLastIterationNames, word("last_iteration"));
  facts.tokens_per_iteration = integer("tokens_per_iteration");
  const ScheduleArguments arguments{
      .sp_degrees = given["sp_degrees"].cast<std::vector<int>>(),
      .gc_layers = given["gc_layers"].cast<std::vector<int>>(),
      .options = {.n_gpus = given["n_gpus"].cast<int>(),
                  .tokens_per_iteration = facts.tokens_per_iteration,
                  .micro_batches_per_rank = given["micro_batches_per_rank"].cast<int>(),
                  .order = facts.order,
                  .last_iteration = facts.last_iteration,
                  .curriculum_iterations = integer("curriculum_iterations"),
                  .epochs = given["epochs"].cast<int>(),
                  .seed = static_cast<std::uint32_t>(integer("seed"))}};
  const auto loss_tokens = given["loss_tokens"].cast<Array<std::int32_t>>();
  facts.seed = arguments.options.seed;
  const auto lengths_tokens = bound.lengths_tokens.cast<Array<std::int32_t>>();
  const py::gil_scoped_release others_may_run;
  if (hash_of_lengths(span_of(lengths_tokens)) != facts.lengths_hash)
    throw std::invalid_argument(
        "packing: expected the lengths that pack() was given, got others: they were changed");
  const Schedule schedule = schedule_of(bound, arguments, facts.padding, facts.pad_multiple_tokens);
  return PlanView::of_bytes(plan_bytes({.packing = bound.packing,
                                        .schedule = schedule,
                                        .sequence = {},
                                        .loss_tokens = span_of(loss_tokens),
                                        .facts = facts}));
}

template <typename T>
auto table(std::span<const T> PlanTables::*member) {
  return [member](const py::object& self) {
    const PlanTables& tables = *self.cast<const PlanView&>();
    return view_of(tables.*member, self);
  };
}

PlanView with_normaliser(const PlanView& plan, const std::string& normaliser) {
  const py::gil_scoped_release others_may_run;
  return PlanView::of_bytes(plan_bytes_with_normaliser(plan, normaliser));
}

py::dict bias_of(const PlanView& plan, const std::string& normaliser) {
  LossBias bias;
  {
    const py::gil_scoped_release others_may_run;
    const RestoredPlan restored = restore_plan(plan);
    const LossTokens loss_tokens(restored.packing, plan->loss_tokens);
    bias = loss_bias(restored.packing, restored.schedule, loss_tokens,
                     count_losses(restored.packing, loss_tokens), known_normaliser(normaliser));
  }
  return members_of(bias);
}

py::list normaliser_rows() {
  py::list rows;
  for (const Normaliser& normaliser : normalisers()) {
    py::dict row;
    row["name"] = text(normaliser.name);
    row["summary"] = text(normaliser.summary);
    row["source"] = text(normaliser.source);
    row["per_sample"] = normaliser.per_sample;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void add_plan(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(PlanGroup, capacity_tokens, first_pack, n_packs, sp_degree, cp_degree, gc_layers,
                       micro_batches_per_rank);
  PYBIND11_NUMPY_DTYPE(PlanPlacedPack, pack, first_gpu, group, round, flags);
  PYBIND11_NUMPY_DTYPE(PlanIteration, first_placed, n_placed);
  PYBIND11_NUMPY_DTYPE(LossBias, misplaced_fraction, long_sample_weight, least_sum, most_sum);

  py::class_<PlanView>(module, "Plan")
      .def_static("open", open_plan, py::arg("path"))
      .def_static("of_bytes", plan_of_bytes, py::arg("plan"))
      .def("save",
           [](const PlanView& plan, const std::string& path) {
             with_os_errors(path, [&] {
               const py::gil_scoped_release others_may_run;
               // Python's own functions make no folders, and neither does this one.
               write_file(path, plan.bytes(), MissingFolder::refuse);
             });
           })
      .def("to_bytes",
           [](const PlanView& plan) {
             return py::bytes(reinterpret_cast<const char*>(plan.bytes().data()), plan.bytes().size());
           })
      .def("check", &PlanView::check, py::call_guard<py::gil_scoped_release>())
      .def("with_normaliser", with_normaliser, py::arg("normaliser"))
      .def("loss_bias", bias_of, py::arg("normaliser"))
      .def_property_readonly("facts", [](const PlanView& plan) { return facts_to_json(plan->facts); })
      .def_property_readonly("content_hash", &PlanView::content_hash)
      .def_property_readonly("groups", table(&PlanTables::groups))
      .def_property_readonly("iterations", table(&PlanTables::iterations))
      .def_property_readonly("placed", table(&PlanTables::placed))
      .def_property_readonly("weights", table(&PlanTables::weights))
      .def_property_readonly("pack_offsets", table(&PlanTables::pack_offsets))
      .def_property_readonly("pack_items", table(&PlanTables::pack_items))
      .def_property_readonly("lengths_tokens", table(&PlanTables::lengths_tokens))
      .def_property_readonly("piece_samples", table(&PlanTables::piece_samples))
      .def_property_readonly("piece_starts", table(&PlanTables::piece_starts))
      .def_property_readonly("loss_tokens", table(&PlanTables::loss_tokens));

  module.def("make_plan", make_plan, py::arg("packing"));
  module.def("normalisers", normaliser_rows);
  module.def("hash_of_lengths",
             [](const Array<std::int32_t>& lengths) { return hash_of_lengths(span_of(lengths)); });
}

}  // namespace packsim::python
