#include "cli/support/support_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/support/kernel_support.hpp"
#include "cli/support/step_support.hpp"
#include "cli/support/table_width.hpp"
#include "models/not_modelled.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

std::string not_modelled_text() {
  std::size_t width = 0;
  for (const NotModelled& row : kNotModelled) width = std::max(width, row.what.size());
  std::string text;
  for (const NotModelled& row : kNotModelled) {
    text += formats_detail::wrapped(fmt::format("{:<{}}  {}", row.what, width, row.text), kTableWidthColumns,
                                    static_cast<int>(width) + 2);
  }
  return text;
}

}  // namespace

std::string support_text(const DataPaths& data) {
  const KernelSources sources = load_kernel_sources(data);
  return "What the times of kernels rest on; all are of bf16, from which a rule makes those of fp8\n\n" +
         kernel_support_text(sources, data) +
         "\nFramework profiles, what the steps had that they were fitted to, and the error on steps left "
         "out\n\n" +
         profile_support_text(data) + "\nThe error that other steps add\n\n" + trait_support_text() +
         "\nHow well the attention kernels of models are known on the measured GPU, and profiles fitted to "
         "steps of\nthem\n\n" +
         model_support_text(sources, data) + "\nWhat no scenario can ask for\n\n" + not_modelled_text();
}

}  // namespace packsim
