// From the parts of a line of folded text to its stack: frames by their text, and stacks by the texts of their frames. What a
// large text costs is this: it has millions of lines with some twenty calls each, nearly all of which were seen before. So
// nothing is looked up for calls whose stack is known, but their texts are hashed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash_rows.h"
#include "base/text_index.h"
#include "formats/folded/parts.h"
#include "model/profile.h"
#include "model/stack_paths.h"

namespace fathom::formats {

class LineStacks {
 public:
  // What is kept of one text: functions and bytes of their names. The rest becomes one function, and its calls are counted.
  static constexpr std::size_t kMostFunctions = 4'000'000, kMostNameBytes = std::size_t{1} << 30;
  static constexpr std::string_view kOtherFunctions = "(other functions)";

  // Both outlive it. Nobody else adds frames or stacks, unless find_again() is called.
  LineStacks(model::Profile& profile, model::Builder& builder, std::size_t most_functions = kMostFunctions);

  // The frames begin with the part at `first`. `parts` is always the same one, cut at each line: what it has kept is not hashed again.
  model::StackId stack(const Parts& parts, std::size_t first);
  // The table of stacks was changed by somebody else.
  void find_again();
  std::uint64_t functions_left_out() const { return functions_left_out_; }

 private:
  struct Call {
    std::size_t first, end;  // parts
  };

  void hash_calls(const Parts& parts, std::size_t first);
  std::size_t calls_kept(const Parts& parts, std::size_t first) const;
  std::uint64_t hash_of_known_or_other(std::string_view text, std::uint64_t hash);
  bool is_full() const { return texts_.size() >= most_functions_ || texts_.bytes() >= kMostNameBytes; }
  // nullopt: another text has the same frame, which is noted, or there are too many functions.
  std::optional<model::FrameId> frame_of(const Parts& parts, Call call, std::uint64_t hash);
  model::FrameId make(const Parts& parts, std::size_t first, std::size_t end);
  model::FrameId other();
  std::uint64_t first_hash_of(model::FrameId frame, std::uint64_t hash);
  model::ModuleId module_of(std::string_view name);
  model::ModuleId module_named(std::string_view name, model::ModuleKind kind);

  model::Profile& profile_;
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
  std::vector<Call> calls_;  // of the line
  std::size_t kept_ = 0;     // the first ones, which are those of the line before
  bool may_keep_ = false;    // no hash has changed since that line
  std::vector<std::uint64_t> hashes_;
};

}  // namespace fathom::formats
