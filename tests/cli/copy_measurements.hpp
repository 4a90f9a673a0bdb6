#pragma once

#include <string>

namespace packsim_test {

/// A measurement file. Five sizes of a copy of 10 us and a nanosecond for every 1 000 bytes.
inline std::string copy_measurements() {
  std::string text =
      R"({"packsim_measurements": 1, "source": {"id": "", "gpu": "NVIDIA H100 80GB HBM3", "provenance": "made up"}})"
      "\n";
  for (const int kilobytes : {1000, 4000, 16000, 64000, 256000}) {
    text += R"({"case": "copy kind=device bytes=)" + std::to_string(1000 * kilobytes) +
            R"( cache=cold", "library": "cuda", "samples_s": [)" + std::to_string(10e-6 + kilobytes * 1e-9) +
            "]}\n";
  }
  return text;
}

}  // namespace packsim_test
