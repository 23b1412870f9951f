// From the parts of a line of folded text to its stack: frames by their text, and stacks by the texts of their frames. What a
// large text costs is this: it has millions of lines with some twenty calls each, nearly all of which were seen before. So
// nothing is looked up for calls whose stack is known, but their texts are hashed.
//
// Lines are taken in two steps: first many of them are cut and hashed, then their stacks are found. A search waits for memory, as it
// ends at a place of a large table that no other line has used for long; until it begins, the place has arrived.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash_rows.h"
#include "base/text_index.h"
#include "formats/folded/calls.h"
#include "formats/folded/parts.h"
#include "model/profile.h"
#include "model/stack_paths.h"

namespace fathom::formats {

class LineStacks {
 public:
  // What is kept of one text: functions and bytes of their names. The rest becomes one function, and its calls are counted.
  static constexpr std::size_t kMostFunctions = 4'000'000, kMostNameBytes = std::size_t{1} << 30;
  static constexpr std::string_view kOtherFunctions = "(other functions)";

  // Both outlive it. No other code adds frames or stacks, unless find_again() is called.
  LineStacks(model::Profile& profile, model::Builder& builder, std::size_t most_functions = kMostFunctions);

  // The first step of a line, whose frames begin with the part at `first`. `parts` is always the same one, cut at each line: what it
  // has kept is not hashed again. `text` is what was cut, and stays valid until the second step.
  void add(std::string_view text, const Parts& parts, std::size_t first);
  // The same of a line whose calls were hashed elsewhere (line_block.h), by their texts alone.
  void add(std::string_view text, std::size_t first, std::span<const std::uint64_t> hashes,
           std::span<const std::uint64_t> paths);
  std::size_t added() const { return lines_.size(); }
  // The second step of all that were added, in their order: visit(stack).
  template <class Visit>
  void find(Visit visit) {
    for (const Line& line : lines_) visit(stack_of(line));
    lines_.clear();
    hashes_.clear();
    paths_.clear();
  }
  // Other code changed the table of stacks. No line is between its steps.
  void find_again();
  std::uint64_t functions_left_out() const { return functions_left_out_; }

 private:
  struct Line {
    std::string_view text;
    std::size_t first;       // part
    std::size_t begin, end;  // of hashes_ and paths_
    std::uint64_t left_out;
  };

  // All but the first `kept` calls, which `calls` has. Returns how many are of functions beyond what is kept.
  std::uint64_t hash(const Parts& parts, std::size_t first, std::size_t kept, Calls& calls);
  model::StackId stack_of(const Line& line);
  bool is_full() const { return texts_.size() >= most_functions_ || texts_.bytes() >= kMostNameBytes; }
  // Of a text that no frame has as its first one. nullopt: another text has the same frame, which is noted, or there are too many functions.
  std::optional<model::FrameId> frame_of(const Parts& parts, Call call, std::uint64_t hash);
  model::FrameId make(const Parts& parts, std::size_t first, std::size_t end);
  model::FrameId other();
  std::uint64_t first_hash_of(model::FrameId frame, std::uint64_t hash);
  model::ModuleId module_of(std::string_view name);
  model::ModuleId module_named(std::string_view name, model::ModuleKind kind);

  model::Builder& builder_;
  std::size_t most_functions_;
  model::ModuleId plain_;
  TextIndex texts_;
  std::vector<model::FrameId> frames_;  // by number of texts_
  // By frame: the hash of its first text. A call of a new stack is found by it, and its text is not compared: it is far away.
  HashRows first_texts_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      other_texts_;                       // of known frames: hash -> that of the first
  std::optional<model::FrameId> other_;   // of functions beyond what is kept
  std::uint64_t functions_left_out_ = 0;  // calls of such
  model::StackPaths stacks_;
  Calls last_;                                 // of the line that was added last
  bool may_keep_ = false;                      // no hash has changed since that line
  std::vector<Line> lines_;                    // between their steps
  std::vector<std::uint64_t> hashes_, paths_;  // of their calls
  Parts again_;                                // a line whose texts are needed in the second step
  Calls calls_again_;
};

}  // namespace fathom::formats
