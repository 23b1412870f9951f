// `fathom report` where the options ask for one table, and not for the report: system calls, probed functions, spans, the heap over
// time, an annotated function, what an allocator printed about itself.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/report_arguments.h"
#include "present/text/text_report.h"

namespace fathom::cli {

// As wide and as coloured as the output allows.
present::TextOptions style_of(const ReportArguments& arguments);

// The exit status; nullopt: the options ask for the report.
std::optional<Result<int>> report_one_table(const model::Profile& profile,
                                            const analysis::Selection& selection,
                                            const ReportArguments& arguments);

// `text` is what an allocator printed about itself, and no profile.
Result<int> report_statistics(const std::string& text, const ReportArguments& arguments);

}  // namespace fathom::cli
