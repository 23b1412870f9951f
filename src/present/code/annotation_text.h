// A function's source and machine code for a terminal, by address, with what each line and each instruction cost.
#pragma once

#include <string>

#include "analysis/annotate/annotation.h"
#include "present/text/text_report.h"

namespace fathom::present {

// `fold`: blocks of instructions without a cost are one row each.
std::string annotation_text(const annotate::Annotation& annotation, const TextOptions& options, bool fold);

}  // namespace fathom::present
