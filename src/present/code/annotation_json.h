// A function's code with its costs, for scripts. Keys: docs/report-json.md.
#pragma once

#include <string>

#include "analysis/annotate/annotation.h"

namespace fathom::present {

std::string to_json(const annotate::Annotation& annotation);

}  // namespace fathom::present
