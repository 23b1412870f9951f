#include "analysis/summary/section.h"

#include <array>

#include "analysis/summary/report.h"

namespace fathom::analysis {
namespace {

constexpr std::array<std::string_view, kSectionCount> kNames{
    "heap",  "blocks", "memory",    "series",  "lines",   "tree",  "waits",
    "locks", "files",  "functions", "threads", "modules", "calls", "timeline"};

bool is_recorded(const Report& report, Section section) {
  switch (section) {
    case Section::kWaits:
    case Section::kLocks:
    case Section::kFiles:
      return report.waits.has_value();
    case Section::kHeap:
      return report.heap.has_value();
    case Section::kMemory:
      return report.memory.has_value();
    // Samples have the first ones, and a recording without single blocks or probes is refused where it is opened.
    case Section::kFunctions:
    case Section::kTree:
    case Section::kLines:
    case Section::kThreads:
    case Section::kModules:
    case Section::kSeries:
    case Section::kBlocks:
    case Section::kCalls:
    case Section::kTimeline:
      return true;
  }
  return true;
}

}  // namespace

std::string_view to_string(Section section) {
  return kNames[static_cast<std::size_t>(section)];
}

std::optional<Section> section_from(std::string_view name) {
  for (std::size_t i = 0; i < kSectionCount; ++i)
    if (kNames[i] == name) return static_cast<Section>(i);
  return std::nullopt;
}

std::optional<Section> not_recorded(const Report& report, const Sections& sections) {
  for (std::size_t i = 0; i < kSectionCount; ++i)
    if (const auto section = static_cast<Section>(i); sections.has(section) && !is_recorded(report, section))
      return section;
  return std::nullopt;
}

}  // namespace fathom::analysis
