// The parts of a report that a user can ask for by name. Options, text and JSON decide from one set of them.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace fathom::analysis {

struct Report;

// In the order in which text prints them; kCalls and kTimeline are reports of their own.
enum class Section : std::uint8_t {
  kHeap,
  kBlocks,  // single blocks of the heap
  kMemory,  // what RSS consists of
  kSeries,  // readings over time
  kLines,
  kTree,
  kWaits,
  kLocks,
  kFiles,  // files and peers that threads waited for
  kFunctions,
  kThreads,
  kModules,
  kCalls,     // of functions that were probed
  kTimeline,  // the heap over time
};
inline constexpr std::size_t kSectionCount = static_cast<std::size_t>(Section::kTimeline) + 1;

// "waits".
std::string_view to_string(Section section);
std::optional<Section> section_from(std::string_view name);

class Sections {
 public:
  constexpr Sections() = default;
  Sections(std::initializer_list<Section> sections) {
    for (const Section section : sections) add(section);
  }
  static Sections all() {
    Sections sections;
    sections.set_.set();
    return sections;
  }
  void add(Section section, bool wanted = true) {
    if (wanted) set_.set(static_cast<std::size_t>(section));
  }
  bool has(Section section) const { return set_.test(static_cast<std::size_t>(section)); }
  bool has_any(const Sections& others) const { return (set_ & others.set_).any(); }
  bool is_within(const Sections& others) const { return (set_ & ~others.set_).none(); }
  bool empty() const { return set_.none(); }
  std::size_t size() const { return set_.count(); }
  bool operator==(const Sections&) const = default;

 private:
  std::bitset<kSectionCount> set_;
};

// The first of the sections whose data the recording lacks.
std::optional<Section> not_recorded(const Report& report, const Sections& sections);

}  // namespace fathom::analysis
