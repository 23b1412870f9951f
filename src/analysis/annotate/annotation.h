// A function as its source and its machine code, with what each line and each instruction cost. Names and lines are those of
// the debug information of this machine, where it is that of the recorded program; else those that were recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/annotate/code_costs.h"
#include "analysis/core/selection.h"
#include "base/result.h"
#include "binary/symbolize/options.h"
#include "model/profile.h"

namespace fathom::annotate {

struct CodeLine {
  std::string function;
  std::string file;        // whole path; "" if unknown
  std::uint32_t line = 0;  // 0 if unknown
  auto operator<=>(const CodeLine&) const = default;
};

struct CodeInstruction {
  ElfAddress address;
  std::uint32_t size = 0;  // bytes; 0: the code is not here, or was not decoded
  std::string text;        // with the name of what it calls; "" as size 0
  Cost cost;
  std::vector<CodeLine> chain;  // innermost first; the last is the function whose code it is. Empty: no name
};

// The code of one function, or a part of it that lies elsewhere ("f.cold"), or what was inlined of one.
struct CodeBlock {
  std::string function;  // whose code it is
  std::string module, path;
  ElfAddress start;
  std::uint64_t size = 0;                     // bytes; 0 if unknown
  std::vector<CodeInstruction> instructions;  // by address
  Cost cost;                                  // total: the largest of its instructions' at least
  std::string gap;       // a sentence without its full stop: why there is no machine code; "" if it is there
  bool inlined = false;  // the function asked for is only inlined here, and the rest is left out
};

struct LineCost {
  CodeLine at;
  Cost cost;         // a stack that has the line several times counts once
  std::string text;  // of the source; "" where it is not here
};

struct Annotation {
  std::vector<std::string> functions;
  Cost cost;
  std::int64_t all = 0;
  std::string unit;
  double effective_samples = 0;
  std::vector<CodeBlock> blocks;  // what cost most first
  std::size_t blocks_left_out = 0;
  std::int64_t left_out = 0;       // self of those
  std::vector<LineCost> lines;     // what cost most by itself first
  std::vector<std::string> notes;  // sentences: sources that are not here, or newer than the program
  // Texts of the source between the first and the last line of each file that has a cost, by path.
  std::map<std::string, std::map<std::uint32_t, std::string>> sources;
};

struct AnnotateOptions {
  std::string pattern;
  symbolize::Options names;  // names.symbol_directory: unstripped twins and debug files
  std::size_t most_blocks = 8;
};

// Errors of the pattern, as of code_costs().
Result<Annotation> annotate(const model::Profile& profile, const analysis::Selection& selection,
                            const AnnotateOptions& options);

}  // namespace fathom::annotate
