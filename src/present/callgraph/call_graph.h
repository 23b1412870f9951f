// The call graph of one kind of cost: functions with what they cost themselves and with all that they call, calls with what goes
// through them. What is too small is left out and counted; a chain of calls through functions that were left out is an indirect
// call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct CallGraphOptions {
  analysis::Selection selection = {};
  bool fold_generics = false;
  std::uint32_t most_functions = 80;       // those with the largest totals; 0: all
  double least_share = 0.005;              // of the whole: functions and calls with less are left out
  std::vector<std::string> comments = {};  // lines below the title
};

struct CallGraph {
  // Names are as they are in the recording: not yet printable.
  struct Function {
    std::string name, module, file;  // an unknown function is called [unknown]
    std::int64_t self = 0, total = 0;
  };
  struct Call {
    std::uint32_t from = 0, to = 0;  // rows of `functions`
    std::int64_t value = 0;
    bool direct = false;  // somewhere one calls the other itself
  };
  std::string target;
  std::string metric;  // "CPU", "Heap live"
  std::string unit;    // of all values (analysis::amount)
  std::vector<Function> functions;
  std::vector<Call> calls;
  std::int64_t total = 0;
  std::size_t left_out = 0;  // functions
  double least_share = 0;
  std::vector<std::string> comments;

  double share(std::int64_t value) const { return static_cast<double>(value) / static_cast<double>(total); }
  std::string amount(std::int64_t value) const;             // "700 samples"
  std::string amount_with_share(std::int64_t value) const;  // "700 samples (77.8 %)"
  std::string omission() const;  // what was left out, in a sentence without a full stop; empty: nothing
};

// kNotFound where the selection has nothing.
Result<CallGraph> call_graph_of(const model::Profile& profile, const CallGraphOptions& options);

}  // namespace fathom::present
