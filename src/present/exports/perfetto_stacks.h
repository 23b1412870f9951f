// Stacks of a profile as a trace of Perfetto has them: each piece is written once, before the first packet that names it by its
// number (interned data), and a stack is a list of frames, the outermost first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "model/profile.h"
#include "present/exports/wire_writer.h"

namespace fathom::present {

class PerfettoStacks {
 public:
  // `tracer`: frames of fathom's own heap tracer are kept. `profile` outlives it.
  PerfettoStacks(const model::Profile& profile, bool fold_generics, bool tracer);

  // The number of a stack; 0: it has no frames. What is new goes to pieces().
  std::uint64_t stack(model::StackId stack);
  // The number of the name of an event.
  std::uint64_t event_name(std::string_view name);
  // The message InternedData of what was named since the last call; empty: nothing is new.
  std::string take_pieces() { return pieces_.take(); }

 private:
  std::uint64_t frame(model::FrameId frame, std::uint32_t line);
  std::uint64_t mapping(model::ModuleId module);
  std::uint64_t text(std::uint32_t field, std::map<std::string, std::uint64_t>& known, std::string bytes);

  const model::Profile& profile_;
  bool fold_generics_;
  std::optional<model::ModuleId> left_out_;
  std::vector<std::uint64_t> stacks_, mappings_;  // numbers by row, 0 for what is not written yet
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frames_;  // by frame and line
  std::map<std::string, std::uint64_t> functions_, files_, paths_, build_ids_, events_;
  std::uint64_t last_stack_ = 0, last_mapping_ = 0;
  WireWriter pieces_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace fathom::present
