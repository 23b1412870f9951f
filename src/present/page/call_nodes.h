// The stacks of a profile as one tree of calls, merged by function and module as every report merges them, without threads:
// what a thread spent where is a row of a table that names the thread and the node. Texts are printable already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/core/code_owner.h"
#include "analysis/core/container_frames.h"
#include "analysis/core/own_code.h"
#include "base/flat_map.h"
#include "model/profile.h"

namespace fathom::page {

// Texts by number; row 0 is "".
class Texts {
 public:
  Texts() { of(""); }
  std::uint32_t of(std::string_view text);
  const std::vector<std::string>& rows() const { return rows_; }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::string> rows_;
};

enum class PlaceKind : std::uint8_t {
  kCode,
  kKernel,
  kRuntime,  // libraries of the language, the loader
  kAllocator,
  kGenerated,  // code made at run time
  kUnknown,    // an address that belongs to nothing that was mapped
  kCause,      // what a thread waited for
  kIdle,       // the same of a wait that is no problem: shown without its stack
  kFolded,     // stands for calls that the page has no room for
};

PlaceKind place_kind(analysis::Owner owner);

// Whose code a place is: views of waits name the user's own code first, as the sentences do (analysis/waits/wait_site.h).
enum class PlaceOwner : std::uint8_t {
  kOwn,
  kLinked,   // a package that was linked in
  kRuntime,  // a language's library, a lock, an executor: it waits on behalf of its caller
};

// A function of a module, or what stands in the place of one. Numbers of texts.
struct Place {
  std::uint32_t name = 0, module = 0, crate = 0, file = 0;
  std::uint32_t short_name = 0;                 // analysis::prose_name; 0: the name itself
  std::uint32_t first_line = 0, last_line = 0;  // that were seen on stacks; 0: none
  PlaceKind kind = PlaceKind::kCode;
  PlaceOwner whose = PlaceOwner::kOwn;
};

struct CallNode {
  std::uint32_t parent = 0;  // smaller than its own number
  std::uint32_t place = 0;
};

class CallNodes {
 public:
  explicit CallNodes(const model::Profile& profile);  // outlives it

  std::uint32_t of_stack(model::StackId stack);
  std::uint32_t of_leaf(const analysis::HeapLeaf& leaf);
  // The place that stands for a cause of waiting, or for a rule that calls waits idle: looks its text up.
  std::uint32_t place_of_cause(std::string_view cause, bool idle);
  std::uint32_t below(std::uint32_t node, std::uint32_t place) { return child(node, place); }
  // Numbers the nodes as a walk down the tree meets them: what lies below a call stands side by side, which makes columns
  // small and sums over them fast. By old number the new one.
  std::vector<std::uint32_t> put_in_order();

  std::vector<CallNode> nodes{{}};  // row 0: the root
  std::vector<Place> places{{}};    // row 0: of the root
  Texts texts;

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t place);
  std::uint32_t enter(std::uint32_t node, model::FrameId frame, std::uint32_t skip);
  std::uint32_t place_of(std::string_view name, model::ModuleId module, bool named);
  std::uint32_t place_of_line(const model::Line& line);
  PlaceOwner owner_of(std::string_view name, model::ModuleId module, std::string_view file) const;

  const model::Profile& profile_;
  analysis::OwnCode own_code_;
  std::optional<model::ModuleId> tracer_;
  std::vector<std::uint32_t> of_stack_;     // node + 1
  std::vector<std::uint32_t> of_function_;  // place
  FlatMap<std::uint32_t> children_, places_;
};

}  // namespace fathom::page
