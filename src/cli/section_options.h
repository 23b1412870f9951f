// --show waits,locks: the sections of a report, and the flags that each stand for one of them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "analysis/summary/section.h"
#include "base/result.h"

namespace fathom::cli {

struct SectionArguments {
  std::vector<std::string> show;  // as it was typed
  analysis::Sections sections;    // of flags; choose_sections() adds those of --show
  bool has(analysis::Section section) const { return sections.has(section); }
};

// --show and the flags that many use; `arguments` outlives `app`.
void add_section_options(CLI::App& app, SectionArguments& arguments);
// The flags that few use.
void add_rare_section_options(CLI::App& app, SectionArguments& arguments);

// kUsage for a name that is no section, and for one that is a report of its own together with another one.
Result<> choose_sections(SectionArguments& arguments);

// What JSON has: everything, unless --show names its tables.
analysis::Sections sections_of_json(const SectionArguments& arguments);

}  // namespace fathom::cli
