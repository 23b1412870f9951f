#include "binary/probes/heap_probes.h"

#include <fmt/format.h>

#include "base/abi/heap_probe_events.h"

namespace fathom::probes {
namespace {

// Why the first `count` arguments cannot be read; "": they can.
std::string problem_of(const UsdtPlace& place, std::size_t count) {
  if (place.arguments.size() < count)
    return fmt::format("it has {} of {} values", place.arguments.size(), count);
  for (std::size_t i = 0; i < count; ++i)
    if (!place.arguments[i].problem.empty())
      return fmt::format("argument {} cannot be read: {}", i + 1, place.arguments[i].problem);
  return {};
}

}  // namespace

Result<HeapProbes> find_heap_probes(const elf::ElfFile& file) {
  const auto probes = read_usdt(file, kHeapProvider);
  if (!probes) return tl::unexpected<Error>(probes.error());
  HeapProbes found;
  for (const Usdt& probe : *probes) {
    const bool frees = probe.name == "free";
    if (!frees && probe.name != "alloc") continue;  // mmap and munmap are announced, and not defined yet
    const auto say = [&](const std::string& problem) {
      found.problems.push_back(fmt::format("{}:{}: {}", kHeapProvider, probe.name, problem));
    };
    for (const std::string& problem : probe.problems) say(problem);
    for (const UsdtPlace& place : probe.places) {
      if (const std::string problem = problem_of(place, frees ? 1 : HEAP_PROBE_VALUES); !problem.empty())
        say(problem);
      else
        (frees ? found.frees : found.allocs).push_back(place);
    }
  }
  return found;
}

std::string text_of(const HeapProbes& probes) {
  const auto places = [](std::size_t count) {
    return count == 0 ? "none" : fmt::format("{} place{}", count, count == 1 ? "" : "s");
  };
  return fmt::format("alloc at {}, free at {}", places(probes.allocs.size()), places(probes.frees.size()));
}

}  // namespace fathom::probes
