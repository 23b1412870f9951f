// Which calls of a call list are open, and where its cursor is, by names: what stays the same when another selection makes
// another tree. What the other tree does not have is remembered for the one after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "present/tui/call_list.h"

namespace fathom::tui {

class OpenCalls {
 public:
  using Name = std::pair<std::string, std::string>;  // function and module
  using NameOf = std::function<Name(const analysis::MergedCalls::Node&)>;

  void remember(const CallList& calls, std::size_t cursor, const NameOf& name_of);
  // Opens what was open. The row of the call that the cursor was on, or of the nearest of its callers that is there.
  std::size_t restore(CallList& calls, const NameOf& name_of) const;

 private:
  struct Call {
    bool open = false;
    std::map<Name, std::uint32_t> below;  // rows of calls_
  };
  std::vector<Call> calls_{1};  // row 0: the root
  std::vector<Name> cursor_;    // from the root on
};

}  // namespace fathom::tui
