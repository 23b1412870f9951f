// Where the time goes, as a reader would ask: which function accounts for most, what is expensive inside of it, and the
// widest chain of calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/selection.h"
#include "analysis/core/source_facts.h"
#include "analysis/summary/hot_subject.h"

namespace fathom::analysis {

// What a function spends: in itself, or in a function that it calls. Calls without a name count for what they call.
struct HotPart {
  std::string name;  // empty: in its own instructions
  std::int64_t value = 0;
};

// The subject of the first sentence, by the rule of hot_subject.h.
struct HotSpot {
  std::string name;
  std::string module;  // empty: that of a program
  CodeRank rank = CodeRank::kOwn;
  bool spread = false;  // no function accounts for much; this one accounts for most
  bool grouped =
      false;  // all code without names of the module, which was made at run time; or of rank kNone,
              // of a library. `name` is empty
  std::string
      own_caller;     // the nearest other named function of the own code on most of its samples; may be empty
  SourcePlace place;  // of most of its samples
  std::int64_t total = 0;      // samples that have it anywhere
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

// A further subject.
struct HotOther {
  std::string name, module;  // as in HotSpot
  CodeRank rank = CodeRank::kOwn;
  bool grouped = false;
  bool itself = false;     // it calls a subject before it: `value` is what it spends without that
  std::int64_t value = 0;  // samples that have none of the subjects before it
  std::string caller;      // as HotSpot::own_caller
};

struct HotPath {
  std::optional<HotSpot> spot;                      // nullopt: no sample has a function with a name
  std::vector<HotOther> others;                     // largest first
  std::int64_t own_self = 0;                        // of all, in instructions of the own code
  std::map<std::string, std::int64_t> own_self_of;  // the same by module
  std::vector<HotFrame> frames;                     // outermost first, at most `most`
};

// Of CPU samples; empty where there are none. `tree` is of the same selection, by threads.
HotPath find_hot_path(const model::Profile& profile, const Selection& selection, const CallTree& tree,
                      std::size_t most = 12);

}  // namespace fathom::analysis
