// Where a unit describes its functions, and what is inlined into them: quick passes over the bytes of its entries. libdw looks
// attributes up one by one and takes a hundred nanoseconds and more for an entry that is only passed by, and of a unit of
// megabytes nearly all are. Pure; bytes are untrusted. Source: DWARF 5 sections 7.5 and 7.5.3. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cursor.h"

namespace fathom::symbolize {

struct EntrySections {
  std::span<const std::byte> info;           // .debug_info
  std::span<const std::byte> abbreviations;  // .debug_abbrev
};

enum class EntryScopes {
  kTop,  // at the top of the unit, and in namespaces (Rust): nearly all functions
  kAll,  // also in types, functions and blocks
};

// A call that is inlined.
struct InlinedEntry {
  std::uint64_t offset = 0;  // of its entry in .debug_info
  std::uint32_t after = 0;   // number of the first one that is not inlined into this one
};

// One unit. All answers are nullopt if something is not understood (a vendor's form, damage): then use
// another reader.
class CodeEntries {
 public:
  // `unit` is the offset of the unit's header in .debug_info. The sections outlive the result. nullopt also for units that are
  // split.
  static std::optional<CodeEntries> open(const EntrySections& sections, std::uint64_t unit);

  // Offsets in .debug_info of the entries of functions that have code, ascending.
  std::optional<std::vector<std::uint64_t>> functions(EntryScopes scopes) const;

  // What is inlined into the function whose entry is at `function`, in the order of the entries: a call, then those that are
  // inlined into it. At most `limit`; from there on they are left out.
  std::optional<std::vector<InlinedEntry>> inlined(std::uint64_t function, std::size_t limit) const;

  std::size_t memory_bytes() const;

 private:
  // How one or more attributes are passed by.
  struct Step {
    enum class Kind : std::uint8_t {
      kFixed,
      kLeb,
      kString,
      kBlock1,
      kBlock2,
      kBlock4,
      kBlock,
      kSibling,
      kSiblingLeb
    };
    Kind kind;
    std::uint32_t bytes = 0;  // kFixed; kSibling: of the reference
  };
  struct Abbreviation {
    std::uint16_t tag = 0;  // 0: there is none of that number
    bool has_children = false, has_code = false;
    std::uint32_t first_step = 0, step_count = 0;
  };

  CodeEntries() = default;
  bool read_header(const EntrySections& sections);
  bool read_abbreviations(std::span<const std::byte> section);
  bool read_abbreviation(Cursor& in, Abbreviation& abbreviation);
  std::optional<Step> step_of(std::uint64_t form) const;
  std::optional<Step> sibling_step(std::uint64_t form) const;
  std::uint64_t pass_attributes(Cursor& in, const Abbreviation& entry) const;
  template <class Enter, class Leave>
  bool walk(std::uint64_t root, Enter enter, Leave leave) const;

  std::span<const std::byte> info_;  // up to the end of the unit
  std::uint64_t start_ = 0;          // of the unit's header
  std::uint64_t first_entry_ = 0;    // that of the unit itself
  std::uint64_t abbreviations_at_ = 0;
  unsigned offset_size_ = 4, address_size_ = 8, version_ = 5;
  std::vector<Abbreviation> by_code_;
  std::vector<Step> steps_;
};

}  // namespace fathom::symbolize
