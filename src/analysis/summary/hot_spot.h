// Where the time goes, as a reader would ask: which function of the own code explains most, what is expensive inside of
// it, and the widest chain of calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/selection.h"
#include "analysis/core/source_facts.h"

namespace fathom::analysis {

// What a function of the own code spends: in itself, or in what it calls that is not own.
struct HotPart {
  std::string name;  // empty: in its own instructions
  std::int64_t value = 0;
};

// A sample is explained by the innermost own function of its stack: what runs below is its doing.
struct HotSpot {
  std::string name, module;
  std::string caller;  // of a function without a name: the nearest one with a name that calls it; else empty
  std::string
      own_caller;  // the nearest other one of the own code on most of its samples; for those whose names are alike
  SourcePlace place;
  std::int64_t explained = 0;  // samples of which it is the innermost own function
  std::vector<HotPart> parts;  // of these; largest first
};

// One call of the widest chain.
struct HotFrame {
  std::string name, module;
  NodeKind kind = NodeKind::kUser;
  SourcePlace place;
  std::int64_t self = 0, total = 0;
  bool own = false;
  std::uint32_t recursions = 0;  // further calls of it in the chain
  std::uint32_t skipped = 0;     // calls between the one before and this that are left out
};

// A further function of the own code that explains much.
struct HotOther {
  std::string name, module;
  std::int64_t value = 0;
  // Where its name alone does not tell it: the nearest function with a name of its own that calls it on most of its samples.
  std::string caller;
};

struct HotPath {
  std::vector<HotOther> others;                     // largest first
  std::optional<HotSpot> spot;                      // nullopt: no sample has a function of the own code
  std::int64_t own_explained = 0;                   // of all, below a function of the own code
  std::int64_t own_self = 0;                        // of all, in instructions of the own code
  std::map<std::string, std::int64_t> own_self_of;  // the same by module
  std::vector<HotFrame> frames;                     // outermost first, at most `most`
};

// Of CPU samples; empty where there are none. `tree` is of the same selection, by threads.
HotPath find_hot_path(const model::Profile& profile, const Selection& selection, const CallTree& tree,
                      std::size_t most = 12);

}  // namespace fathom::analysis
