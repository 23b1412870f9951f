// The figures of a comparison as people read them: in the unit and the normalization of the report.
#pragma once

#include <string>

#include "analysis/diff/diff.h"

namespace fathom::present {

// A comparable figure: "11.0 %", "1.25 s", "3.4 MiB".
std::string diff_figure(analysis::DiffUnit unit, analysis::Normalization normalization, double value);
std::string diff_value(const analysis::DiffReport& report, double value);
// "102 → 108 %", from base to new.
std::string diff_from_to(const analysis::DiffReport& report, const analysis::Change& change);
// "+5.2 ± 0.9", in points where the figure is a share or a part of a core; "+1.20 s ± 0.10 s" elsewhere. Without "±" where
// nothing is uncertain.
std::string diff_change(const analysis::DiffReport& report, const analysis::Change& change);
// "+6.1 %", of base; "new" or "gone" where one side has nothing.
std::string relative_change(const analysis::Change& change);

// " per second", " per block"; "" for figures as recorded and shares. `work`: what a unit of work is called.
std::string diff_per(analysis::Normalization normalization, const std::string& work);
// "CPU time".
std::string diff_metric_name(const analysis::DiffReport& report);
// "CPU time per second": the metric and the normalization.
std::string diff_figure_name(const analysis::DiffReport& report);
// "a.fathom", "3 runs".
std::string side_name(const analysis::DiffSide& side);

}  // namespace fathom::present
