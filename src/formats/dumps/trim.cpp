#include "formats/dumps/trim.h"

#include <algorithm>
#include <array>

namespace fathom::dumps {
namespace {

// jemalloc's own frames never go deeper than this below the function that was called.
constexpr std::size_t kMostOwn = 24;

constexpr std::array<std::string_view, 13> kEntries{
    "malloc",  "calloc",  "realloc", "posix_memalign", "aligned_alloc", "memalign", "valloc",
    "pvalloc", "mallocx", "rallocx", "xallocx",        "reallocarray",  "smallocx"};
constexpr std::array<std::string_view, 12> kInside{"prof_",    "imalloc", "irallocx", "do_rallocx",
                                                   "arena_",   "tcache_", "ialloc",   "malloc_default",
                                                   "te_event", "large_",  "iralloc",  "tsd_"};

std::string_view without_prefix(std::string_view function) {
  for (const std::string_view prefix : {"_rjem_je_", "_rjem_", "je_"})
    if (function.starts_with(prefix)) return function.substr(prefix.size());
  return function;
}

}  // namespace

bool is_entry(std::string_view function) {
  return std::ranges::find(kEntries, without_prefix(function)) != kEntries.end();
}

bool is_inside(std::string_view function) {
  if (function.starts_with("_rjem_je_")) return true;
  const std::string_view name = without_prefix(function);
  return std::ranges::any_of(kInside, [&](std::string_view start) { return name.starts_with(start); });
}

void trim_allocator_frames(model::Profile& profile) {
  const auto library = [&](const model::Frame& frame) {
    return profile.strings[profile.modules[frame.module.value].name].starts_with("libjemalloc");
  };
  const auto name = [&](const model::Frame& frame) -> std::string_view {
    if (frame.line_count == 0) return {};
    return profile.strings
        [profile.functions[profile.lines[frame.first_line + frame.line_count - 1].function.value].name];
  };
  for (model::HeapSite& site : profile.heap.sites) {
    model::StackId rest = site.stack, at = site.stack;
    bool entered = false;
    for (std::size_t i = 0; i < kMostOwn && at.value != 0; ++i) {
      const model::Stack& row = profile.stacks[at.value];
      const model::Frame& frame = profile.frames[row.frame.value];
      // Internal functions directly follow the leaf; the allocator's entry points may come after frames
      // without a name. The caller of an entry point is the program, whatever its functions are called.
      const bool entry = is_entry(name(frame));
      entered = entered || entry;
      if (entry || (at == rest && (library(frame) || (!entered && is_inside(name(frame))))))
        rest = row.parent;
      at = row.parent;
    }
    if (rest.value != 0) site.stack = rest;
  }
}

}  // namespace fathom::dumps
