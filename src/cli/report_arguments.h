// What the user asks of `fathom report`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/summary/report.h"
#include "cli/output.h"
#include "cli/section_options.h"
#include "cli/selection_options.h"

namespace fathom::cli {

struct ReportArguments {
  std::string file;
  SelectionOptions selection;
  analysis::ReportOptions report;
  std::optional<std::size_t> top;
  std::string sort;
  std::string by;
  std::string subsystems;  // file of rules
  std::vector<std::string> annotate;
  std::string tree;  // callees or callers; empty: not asked for
  std::optional<double> percent_limit;
  OutputPath output;
  std::string color = "auto";
  SectionArguments sections;
  bool system_calls = false;
  bool all = false, show_idle = false, json = false, wide = false, follow = false;
  bool has(analysis::Section section) const { return sections.has(section); }
};

}  // namespace fathom::cli
