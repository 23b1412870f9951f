// Which functions hand memory out or manage it for others, and so are not why it was allocated. The rules
// stand in container_rules.txt, which says what they look like, and are part of the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

extern const std::string_view kContainerRulesText;

enum class ContainerFrame : std::uint8_t {
  kNone,       // somebody's own code
  kAllocator,  // malloc, operator new, __rust_alloc, xmalloc
  kLibrary,    // strdup, std::vector, hashbrown
};

struct ContainerRules {
  std::vector<std::string> allocators, wrappers, copiers;  // globs
  std::vector<std::string> libraries;                      // crates and namespaces, sorted
};

// kMalformed with the number of the line. `name` is the file's.
Result<ContainerRules> parse_container_rules(std::string_view text, const std::string& name);
// Those of container_rules.txt.
const ContainerRules& built_in_container_rules();

ContainerFrame container_frame_of(std::string_view function,
                                  const ContainerRules& rules = built_in_container_rules());

// A stack without its container frames: the leaf is then the code that wanted the memory.
struct HeapLeaf {
  model::StackId stack;
  std::uint32_t skip = 0;  // lines of its leaf frame, innermost first, that are left out
};
class HeapLeaves {
 public:
  // Takes away the allocator's own frames; with `libraries` those of containers, too.
  explicit HeapLeaves(const model::Profile& profile, bool libraries = false);
  HeapLeaf of(model::StackId stack);

 private:
  HeapLeaf cut(model::StackId stack, ContainerFrame most);
  bool is_container_frame(model::FunctionId function, ContainerFrame most);

  const model::Profile& profile_;
  bool libraries_;
  std::vector<char> functions_;  // 0 not looked at, else 1 + its ContainerFrame
  std::vector<HeapLeaf> known_;
  std::vector<char> has_;
};

}  // namespace fathom::analysis
