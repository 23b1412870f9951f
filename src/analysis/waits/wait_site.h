// The place in the program's own code that a stack stands for: "waits in Db::commit", not in
// pthread_cond_wait. The innermost frame that belongs to no language's library, no lock's implementation and
// not to the kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/core/own_code.h"
#include "model/profile.h"

namespace fathom::analysis {

// What a thread waits for at a futex, by the functions around it.
enum class FutexKind : std::uint8_t { kLock, kCondition, kPark, kJoin };
std::string_view to_string(FutexKind kind);  // "lock", "condition", "park", "join"

// Remembers what it found. `profile` outlives it and does not change.
class WaitSites {
 public:
  explicit WaitSites(const model::Profile& profile)
      : profile_(profile), own_code_(profile), known_(profile.stacks.size()) {}
  // The nearest function of the own code (own_code.h), else of no known library. "[no stack]" for stack 0; without one, the innermost user frame, else the outermost frame.
  const std::string& of(model::StackId stack);
  FutexKind futex_kind(model::StackId stack) const;
  // The `most` innermost user frames, innermost first: "wait < commit < main".
  std::string path(model::StackId stack, std::size_t most) const;

 private:
  const model::Profile& profile_;
  OwnCode own_code_;
  std::vector<std::optional<std::string>> known_;
};

}  // namespace fathom::analysis
