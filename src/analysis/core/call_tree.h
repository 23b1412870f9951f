// profile -> call tree: the stacks of all selected samples merged from the root, by names. For the metrics
// off-cpu and wall also those of the waits, with the cause as a frame above the leaf: "[wait: futex]" for the
// time until it was woken, "[run queue]" for the time after that. wall also has the CPU samples, in ns. Heap
// metrics use the heap's sites, without the allocator's own frames at the leaf. Frames are expanded into the
// calls that were inlined into them. The same samples give the same tree, byte for byte, whatever the order
// of the profile's tables: nodes stand in depth-first order, children sorted by name. Numbers and names, no
// pixels. A tree owns its texts and no longer needs the profile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/selection.h"
#include "base/uint24.h"
#include "model/profile.h"

namespace fathom::analysis {

enum class NodeKind : std::uint8_t {
  kRoot,    // node 0, "all"
  kThread,  // all threads of one name
  kUser,
  kInlined,  // a call that was inlined at every occurrence of this node
  kKernel,
  kCause,  // what a wait was for (wait_cause.h), idle waits as one (idle.h), frames of the pseudo-module
           // "[cause]"
  kOther,  // an address that belongs to nothing that was mapped
};

// Frames of a module of this name say why a thread waited.
inline constexpr std::string_view kCauseModule = "[cause]";

// CallTree::effective_samples of what was not sampled at all.
inline constexpr double kExact = 1e15;

inline constexpr std::uint32_t kNoNode = 0;  // the root has no parent and no siblings

// Nodes are most of the memory of a command that reads a large profile: a text with a million stacks has five million of them.
struct TreeNode {
  Uint24 parent;
  Uint24 next_sibling;  // kNoNode: the last one
  Uint24 name;          // row of CallTree::names
  Uint24 module;        // row of CallTree::modules
  Uint24 depth;         // 0 for the root
  NodeKind kind = NodeKind::kUser;
  std::int64_t self = 0;   // in CallTree::unit
  std::int64_t total = 0;  // with all descendants
  auto operator<=>(const TreeNode&) const = default;
};

static_assert(sizeof(TreeNode) == 32);

struct TreeModule {
  std::string name;  // short, "libc.so.6"; "" for threads and for code outside of every module
  std::string path;
  std::string build_id;
  std::string symbols_path;  // where its names came from; empty if the module itself
  model::ModuleKind kind = model::ModuleKind::kUnknown;
  model::SymbolSource symbols = model::SymbolSource::kNone;
  auto operator<=>(const TreeModule&) const = default;
};

struct CallTree {
  // Depth-first: a node, then its first child with all below it, then the next child. Never empty.
  std::vector<TreeNode> nodes;
  std::vector<std::string> names;   // sorted, so comparing rows compares names
  std::vector<TreeModule> modules;  // sorted by name; row 0 is "no module"
  std::int64_t total = 0;           // nodes[0].total
  std::string unit;                 // "samples", "ns", "bytes"
  model::Metric metric = model::Metric::kCpu;
  std::uint64_t samples = 0;  // samples, waits and sites of the heap merged here
  std::uint64_t waits = 0;    // of these, waits: rows, each of which may stand for several
  // heap-growth: what the sites that shrank have lost, not negative. They are not in the tree.
  std::int64_t shrunk = 0;
  std::int64_t idle_ns = 0;  // left out by drop_idle, in so many threads
  std::uint64_t idle_threads = 0;
  std::int64_t queue_ns = 0;   // left out by drop_queue
  std::int64_t tracer = 0;     // left out: what fathom's own heap tracer took in the target, in `unit`
  std::uint64_t filtered = 0;  // samples and waits of this metric that the selection left out
  // How many equal, independent samples would be as certain as these: total^2 / variance, which for samples
  // is (sum of weights)^2 / sum of squares. For sampling errors. kExact when every wait was seen.
  double effective_samples = 0;

  const std::string& name(const TreeNode& node) const { return names[node.name]; }
  // kNoNode: it has no children.
  std::uint32_t first_child(std::uint32_t node) const {
    const std::uint32_t next = node + 1;
    return next < nodes.size() && nodes[next].parent == node ? next : kNoNode;
  }
  bool operator==(const CallTree&) const = default;
};

struct TreeOptions {
  Selection selection = {};
  bool thread_roots = true;    // the first frame is the thread's name
  bool reverse = false;        // from the leaf to the root: what is merged is who called it
  bool fold_generics = false;  // "Vec<..>::push"; see fold_generics.h
  bool drop_queue =
      false;  // time in which a thread had no CPU is no function's: that of the run queue is left out and counted
              // (CallTree::queue_ns), that of a quota stands at the root
  bool drop_idle = false;    // idle waits (idle.h) are left out and counted: CallTree::idle_ns
  bool fold_kernel = false;  // of a wait's stack, what the kernel did to wait is left out: its cause says it
  bool fold_recursion = false;  // a function that calls itself is one frame
};

// Time: a few ns per sample and one hash lookup per different (stack, thread). `profile` has passed check().
CallTree build_call_tree(const model::Profile& profile, const TreeOptions& options);

// The tree's input, by stack: the self value of each. Row 0 of the stacks: folded idle waits. The values of a
// stack add up, and all of them add up to the tree's total.
struct StackValue {
  model::StackId stack;
  std::uint32_t skip = 0;  // lines of its leaf frame, innermost first, that are left out
  std::int64_t value = 0;
};
std::vector<StackValue> stack_values(const model::Profile& profile, const Selection& selection);

// The name of line `line` (0: innermost) of a frame; "[module+0xADDR]" when the frame has none.
std::string frame_name(const model::Profile& profile, model::FrameId frame, std::uint32_t line = 0);

// "worker", or "[thread 123]" if the thread's name is unknown.
std::string thread_name(const model::Profile& profile, model::ThreadId thread);

}  // namespace fathom::analysis
