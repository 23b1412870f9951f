#include "formats/open/block_choice.h"

#include <fmt/format.h>

#include <cstdint>

#include "model/facts.h"

namespace fathom::open {
namespace {

// "of 16 to 4096 bytes", "that lived 0.001 s and less".
std::string range(std::uint64_t least, std::uint64_t most, double unit, const char* before,
                  const char* name) {
  const bool from = least != 0, to = most != UINT64_MAX;
  if (!from && !to) return "";
  const auto value = [&](std::uint64_t of) {
    return unit == 1 ? fmt::format("{}", of) : fmt::format("{:g}", static_cast<double>(of) / unit);
  };
  if (from && to && least == most) return fmt::format("{}{} {}", before, value(least), name);
  if (from && to) return fmt::format("{}{} to {} {}", before, value(least), value(most), name);
  return fmt::format("{}{} {} and {}", before, value(from ? least : most), name, from ? "more" : "less");
}

}  // namespace

std::string block_choice_text(const store::HeapBlockFilter& filter) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  if (filter.leaked) add("that were never freed");
  add(range(filter.least_size, filter.most_size, 1, "of ", "bytes"));
  add(range(filter.least_lifetime_ns, filter.most_lifetime_ns, 1e9, "that lived for ", "s"));
  if (filter.first_address && filter.end_address)
    add(fmt::format("that start in {:#x}:{:#x}", *filter.first_address, *filter.end_address));
  else if (filter.first_address)
    add(fmt::format("that hold {:#x}", *filter.first_address));
  if (filter.alive_at_ns)
    add(fmt::format("that were live at {:g} s", static_cast<double>(*filter.alive_at_ns) * 1e-9));
  if (filter.freed_after_ns)
    add(fmt::format("that were freed after {:g} s", static_cast<double>(*filter.freed_after_ns) * 1e-9));
  if (filter.freed_by) add("that thread '" + *filter.freed_by + "' freed");
  return text;
}

void tell_block_choice(const store::HeapBlockFilter& filter, model::Profile& profile) {
  const std::string text = block_choice_text(filter);
  if (text.empty()) return;
  store::HeapBlockFilter place;
  place.keep = filter.keep;
  place.least_size = filter.least_size;
  place.most_size = filter.most_size;
  place.first_address = filter.first_address;
  place.end_address = filter.end_address;
  model::put_facts(
      model::ImportFacts{.block_choice = text, .block_choice_by = filter == place ? "place" : "fate"},
      profile.meta);
}

}  // namespace fathom::open
