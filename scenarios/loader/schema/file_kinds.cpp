#include "scenarios/loader/schema/file_kinds.hpp"

#include <array>

#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/read_network.hpp"

namespace packsim {

std::span<const FileKind> file_kinds() {
  static constexpr std::array<FileKind, 6> kKinds = {
      {{.name = "scenario",
        .title = "A scenario of packsim",
        .described_as = "a scenario",
        .read = [](JsonReader reader, const DataPaths& data,
                   Problems& problems) { read_scenario(std::move(reader), "", data, problems); }},
       {.name = "model",
        .title = "A model of packsim",
        .described_as = "a model",
        .read = [](JsonReader reader, const DataPaths&, Problems&) { read_model(std::move(reader)); }},
       {.name = "cluster",
        .title = "A cluster type of packsim",
        .described_as = "a cluster type",
        .read = [](JsonReader reader, const DataPaths& data,
                   Problems& problems) { read_cluster_type(std::move(reader), data, problems); }},
       {.name = "network",
        .title = "A network of packsim",
        .described_as = "a network",
        .read = [](JsonReader reader, const DataPaths&,
                   Problems&) { read_network_design(std::move(reader), Gpu{}, kMostGpusPerNode); }},
       {.name = "gpu",
        .title = "A GPU of packsim",
        .described_as = "a GPU",
        .read = [](JsonReader reader, const DataPaths&, Problems&) { read_gpu(std::move(reader)); }},
       {.name = "prices",
        .title = "A price list of packsim",
        .described_as = "a price list",
        .read = [](JsonReader reader, const DataPaths&, Problems&) { read_price_list(std::move(reader)); }}}};
  return kKinds;
}

}  // namespace packsim
