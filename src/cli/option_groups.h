// The headings under which --help lists options. One order in every command, so that a reader knows where to look.
#pragma once

#include <CLI/CLI.hpp>

namespace fathom::cli {

inline constexpr const char* kTargetGroup = "Target";
inline constexpr const char* kRecordGroup = "What to record";
inline constexpr const char* kStopGroup = "When to start and stop";
inline constexpr const char* kTablesGroup = "Tables";
inline constexpr const char* kSelectionGroup = "Select a part";
inline constexpr const char* kPictureGroup = "Picture";
inline constexpr const char* kOutputGroup = "Output";
// Listed by --help-all, manual pages and completions; --help says how many there are.
inline constexpr const char* kRareGroup = "Rare";
inline constexpr const char* kBlocksGroup = "Single blocks of the heap (recorded with --each-block; rare)";
inline constexpr const char* kHabitsGroup = "Accepted from other profilers (rare)";

// Options that are declared after this go below `title`.
inline void begin_group(CLI::App& app, const char* title) {
  app.option_defaults()->group(title);
}

// A spelling that works and is not listed.
inline constexpr const char* kHidden = "";

}  // namespace fathom::cli
