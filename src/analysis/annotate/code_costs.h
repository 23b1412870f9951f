// profile -> what a function cost at each of its addresses. Pure. An instruction pointer and a return address mean different
// things: what stands at a leaf is the cost of that place itself; what stands further up called, and has the total alone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"
#include "base/address.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::annotate {

struct Cost {
  std::int64_t self = 0;  // in CallTree::unit
  std::int64_t total =
      0;  // with what was called from there; a stack that has the place several times counts once
  bool operator==(const Cost&) const = default;
};

// A module and a lookup address (model::Frame::address) in it. Imported names have no address: there the
// frame separates places, and is 0 otherwise.
struct PlaceKey {
  model::ModuleId module;
  ElfAddress address;
  std::uint32_t frame = 0;
  auto operator<=>(const PlaceKey&) const = default;
};
PlaceKey place_of(const model::Profile& profile, model::FrameId frame);

// One address of code in which the function stands.
struct PlaceCost {
  model::FrameId frame;  // one of those that have this address; its lines are the recorded ones
  Cost cost;
};

struct CodeCosts {
  std::vector<std::string> functions;  // that the pattern fits, with a cost
  Cost cost;                           // of them together; self: of their code with what was inlined into it
  std::int64_t all = 0;                // of the whole selection
  std::string unit;
  double effective_samples = 0;  // of `all`, as of CallTree
  std::map<PlaceKey, PlaceCost> places;
  std::set<PlaceKey> inlined;  // where one of the functions is no more than inlined into another
  std::vector<char> stands;    // by frame: 1 where one of the functions is in it
  // What was added up: each stack once.
  std::vector<analysis::StackValue> stacks;
};

// `pattern` as of `fathom report --callers` (analysis::matching_names), with its errors.
Result<CodeCosts> code_costs(const model::Profile& profile, const analysis::Selection& selection,
                             const std::string& pattern);

}  // namespace fathom::annotate
