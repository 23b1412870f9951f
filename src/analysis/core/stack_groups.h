// What the values of a selection are made of: by crate, module, thread, process, source file or source line, each with
// what it cost by itself and with all that it called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/functions.h"
#include "analysis/core/selection.h"
#include "analysis/core/subsystems.h"

namespace fathom::analysis {

enum class GroupBy : std::uint8_t {
  kModule,
  kCrate,    // crate of Rust, outermost namespace of C++ (code_name.h); the module for functions in none
  kThread,   // by name
  kProcess,  // by name, with how many had it
  kFile,     // with the folder that it lies in
  kLine,
  kSubsystem,  // by rules of the user (subsystems.h)
};
std::string_view to_string(GroupBy by);
std::optional<GroupBy> group_by_from(
    std::string_view name);  // of what users type: not of lines and subsystems

struct GroupRow {
  std::string name;
  std::string function;  // of lines: the one that most of the weight is in
  std::int64_t self = 0;
  // Of the stacks that have it anywhere, each once; of threads and processes the same as self.
  std::int64_t total = 0;
};

struct StackGroups {
  GroupBy by = GroupBy::kModule;
  SortBy sort = SortBy::kSelf;
  std::int64_t whole = 0;  // sum of self
  std::vector<GroupRow> rows;
};

// Places without a source line are one row for each module. Time: a visit for each stack that has a value.
StackGroups group_stacks(const model::Profile& profile, const Selection& selection, GroupBy by, SortBy sort);

// A stack belongs to the subsystem of its innermost function that a rule knows, so memcpy counts for who called it. Stacks without
// such a function are the row "(other)".
StackGroups group_by_subsystem(const model::Profile& profile, const Selection& selection,
                               const Subsystems& subsystems, SortBy sort);

}  // namespace fathom::analysis
