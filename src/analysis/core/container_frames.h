// Which functions hand memory out or manage it for others, and so are not why it was allocated. The rules
// stand in container_rules.txt, which says what they look like, and are part of the program.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

extern const std::string_view kContainerRulesText;

enum class ContainerFrame : std::uint8_t {
  kNone,       // the user's own code
  kAllocator,  // malloc, operator new, __rust_alloc
  kWrapper,    // xmalloc, g_malloc
  kLibrary,    // strdup, std::vector, hashbrown
};

struct ContainerRules {
  std::vector<std::string> allocators, wrappers, copiers;  // globs
  std::vector<std::string> libraries;                      // crates and namespaces, sorted
  std::vector<std::string> modules;                        // beginnings of the names of files
  struct Family {
    std::string allocator;  // how its label begins
    std::vector<std::string> functions;
  };
  std::vector<Family> families;
};

// kMalformed with the number of the line. `name` is the file's.
Result<ContainerRules> parse_container_rules(std::string_view text, const std::string& name);
// Those of container_rules.txt.
const ContainerRules& built_in_container_rules();

// By name alone: classes that hold in every module. Functions of a detected allocator hold only in its
// module, and HeapLeaves knows these.
ContainerFrame container_frame_of(std::string_view function,
                                  const ContainerRules& rules = built_in_container_rules());

// Functions of allocators that were found, in the module in which they were: what is called like one elsewhere is the
// program's own (tc_parse_filter, je_settings).
class FoundAllocators {
 public:
  explicit FoundAllocators(const model::Profile& profile);  // outlives it
  bool own(const model::Function& function) const;

 private:
  const model::Profile& profile_;
  // By module: functions that are hooked, and which families they belong to.
  std::map<std::uint32_t, std::set<std::string_view>> hooked_;
  std::map<std::uint32_t, std::vector<const ContainerRules::Family*>> families_;
};

// A stack without its container frames: the leaf is then the code that wanted the memory.
struct HeapLeaf {
  model::StackId stack;
  std::uint32_t skip = 0;  // lines of its leaf frame, innermost first, that are left out
};
class HeapLeaves {
 public:
  enum class Fold : std::uint8_t { kNothing, kAllocators, kContainers };
  explicit HeapLeaves(const model::Profile& profile, Fold fold = Fold::kAllocators);
  // As the selection asks for; where it does not say, with the frames of containers or without.
  HeapLeaves(const model::Profile& profile, const Selection& selection, bool fold_containers);
  HeapLeaf of(model::StackId stack);

 private:
  HeapLeaf cut(model::StackId stack, ContainerFrame most);
  bool is_container_frame(model::FunctionId function, ContainerFrame most);
  bool begins_program(model::StackId stack) const;

  const model::Profile& profile_;

  Fold fold_;
  FoundAllocators found_;
  std::vector<char> functions_;  // 0 not looked at, else 1 + its ContainerFrame
  std::vector<HeapLeaf> known_;
  std::vector<char> has_;
};

}  // namespace fathom::analysis
