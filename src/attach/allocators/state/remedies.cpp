#include "attach/allocators/state/remedies.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/allocators/settings/settings.h"
#include "base/stable_sort.h"

namespace fathom::allocators {
namespace {

void add_jemalloc(const AllocatorState& state, const std::optional<std::string>& prefix,
                  std::vector<Remedy>& out) {
  const std::string variable = jemalloc_variable(prefix.value_or("")) + "=";
  const std::string hint =
      prefix ? "" : " (in most Rust programs the variable is _RJEM_MALLOC_CONF: its prefix is not known)";
  const std::uint64_t free_pages = state.returnable;
  out.push_back({prefix.value_or("") + "mallctl(\"arena.4096.purge\", NULL, NULL, NULL, 0)", false,
                 free_pages, "gives back the free pages of all arenas at once",
                 "pages that are needed again are faulted in again"});
  out.push_back(
      {variable + std::string(kJemallocGivesBackSooner), true, free_pages,
       "gives free pages back after a second, also while the program is idle" + hint,
       "up to one thread per CPU, which sleeps mostly, and a page fault for each page that is used again"});
  if (state.arenas.size() > 1)
    out.push_back({variable + "narenas:1", true, state.resident(HeldKind::kFreeInSlabs),
                   "lets all threads share slabs that are partly free" + hint,
                   "threads wait for each other where they allocate at the same time"});
}

void add_glibc(const AllocatorState& state, std::vector<Remedy>& out) {
  out.push_back(
      {"malloc_trim(0)", false, state.returnable,
       "gives back the free pages inside of all arenas, and the end of the main one",
       "each arena is locked while it is gone through; pages that are needed again are faulted in again"});
  if (state.trim_threshold && *state.trim_threshold > 128 * 1024)
    out.push_back(
        {"MALLOC_TRIM_THRESHOLD_=131072", true, state.returnable_top,
         fmt::format(
             "gives back the end of the main arena when 128 KiB of it are free; the threshold has grown to {} KiB automatically",
             *state.trim_threshold / 1024),
         "a system call whenever the end becomes free, and page faults when it grows again"});
  std::uint64_t of_threads = 0;
  for (const HeldArena& arena : state.arenas)
    if (arena.index != 0) of_threads += arena.free;
  if (state.arenas.size() > 1)
    out.push_back({"MALLOC_ARENA_MAX=1", true,
                   std::min(of_threads, state.resident(HeldKind::kBins) + state.resident(HeldKind::kTop)),
                   "lets all threads share the free memory of the main arena",
                   "threads wait for each other where they allocate at the same time"});
}

}  // namespace

std::vector<Remedy> remedies_of(const AllocatorState& state, std::optional<std::string> prefix,
                                std::uint64_t least) {
  std::vector<Remedy> all;
  if (state.certainty == Certainty::kUnknown) return all;
  if (state.name == "jemalloc") add_jemalloc(state, prefix, all);
  if (state.name == "glibc") add_glibc(state, all);
  std::erase_if(all, [&](const Remedy& each) { return each.gives_back < std::max<std::uint64_t>(least, 1); });
  stable_sort_rows(all.begin(), all.end(),
                   [](const Remedy& a, const Remedy& b) { return a.gives_back > b.gives_back; });
  return all;
}

}  // namespace fathom::allocators
