// What a function's code cost, in words.
#pragma once

#include <string>
#include <vector>

#include "analysis/annotate/annotation.h"

namespace fathom::present {

// The function's cost, its most expensive lines, and which of its sources are missing. Lines are printed only
// for a terminal or in JSON.
std::vector<std::string> sentences_of(const annotate::Annotation& annotation);
// "hot in cruncher, at 0x1139, 103 bytes"
std::string block_title(const annotate::CodeBlock& block);
std::string left_out_sentence(const annotate::Annotation& annotation);

}  // namespace fathom::present
