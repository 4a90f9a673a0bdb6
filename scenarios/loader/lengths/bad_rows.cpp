#include "scenarios/loader/lengths/bad_rows.hpp"

#include <fmt/format.h>

#include <utility>

namespace packsim {
namespace {

constexpr std::int64_t kMostShown = 10;

}  // namespace

BadRows::~BadRows() {
  if (count_ <= kMostShown) return;
  problems_.add({file_, "whole file", "no mistakes",
                 fmt::format("{}, of which the first {} are shown", count_, kMostShown)});
}

void BadRows::add(std::string place, std::string expected, std::string got) {
  if (++count_ > kMostShown) return;
  problems_.add({file_, std::move(place), std::move(expected), std::move(got)});
}

void BadRows::add(std::int64_t line, std::string expected, std::string got) {
  add(fmt::format("line {}", line), std::move(expected), std::move(got));
}

}  // namespace packsim
