// The calls of a profile's stacks as other tools count them: a function in a file, whatever the address and the line, so that a
// function is one thing in their tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "model/profile.h"

namespace fathom::present {

struct FrameCall {
  std::string name;  // not yet printable
  std::string_view file;
  model::ModuleId module;
};

class FrameLines {
 public:
  // `tracer`: frames of fathom's own heap tracer are kept. `profile` outlives it.
  FrameLines(const model::Profile& profile, bool fold_generics, bool tracer);

  // Rows of calls(), the innermost first, without the first `skip` ones; valid until the next call.
  std::span<const std::uint32_t> of_frame(model::FrameId frame, std::uint32_t skip = 0);
  // The calls of a whole stack, outermost first, with the frame of its cause at the end.
  void of_stack(model::StackId stack, std::uint32_t skip, std::string_view cause,
                std::vector<std::uint32_t>& calls);
  // The call that stands for the cause of a wait.
  std::uint32_t of_cause(std::string_view cause) { return of_name(std::string(cause), {0}); }
  const std::vector<FrameCall>& calls() const { return calls_; }

 private:
  std::uint32_t of_function(const model::Line& line);
  std::uint32_t of_name(const std::string& name, model::ModuleId module);

  const model::Profile& profile_;
  bool fold_generics_;
  std::optional<model::ModuleId> left_out_;
  std::vector<FrameCall> calls_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      ranges_;  // by frame: first row + 1 of lines_, and how many
  std::vector<std::uint32_t> lines_;
  FlatMap<std::uint32_t> functions_;  // row + 1, by function and file
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> names_;
};

// The stacks in the order of a tree: each before those that it calls. A viewer that draws them in the order of the file then
// draws the tree.
std::vector<std::uint32_t> tree_order(const model::Profile& profile);

}  // namespace fathom::present
