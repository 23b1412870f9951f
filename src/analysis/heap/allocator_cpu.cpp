#include "analysis/heap/allocator_cpu.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/container_frames.h"
#include "analysis/core/heap.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/heap/allocator_stacks.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

using namespace model;

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

// Functions that only allocators have, in addition to forwarding ones (container_frames.h).
bool is_inside_allocator(std::string_view name) {
  static const std::set<std::string_view> kNames = {"free",
                                                    "cfree",
                                                    "__libc_free",
                                                    "sdallocx",
                                                    "_int_malloc",
                                                    "_int_free",
                                                    "_int_free_chunk",
                                                    "_int_free_merge_chunk",
                                                    "_int_free_maybe_consolidate",
                                                    "_int_realloc",
                                                    "_int_memalign",
                                                    "sysmalloc",
                                                    "systrim",
                                                    "unlink_chunk",
                                                    "heap_trim",
                                                    "grow_heap",
                                                    "free_sized",
                                                    "free_aligned_sized"};
  return kNames.contains(name) ||
         starts_with_any(name, {"tcache_", "arena_get", "_mi_", "mi_", "tcmalloc::", "__rust_dealloc",
                                "__rdl_dealloc", "__rg_dealloc", "__libc_memalign"});
}

enum class FrameKind : std::uint8_t { kUnknown, kAllocator, kNeutral, kKernel, kOther };

// What stands at the leaf of a stack.
struct LeafKind {
  bool known = false, allocator = false, kernel = false, page_fault = false;
  StackId asked;           // the frame of the function that called the allocator
  std::uint32_t line = 0;  // of that frame
};

class Classes {
 public:
  explicit Classes(const Profile& profile)
      : profile_(profile),
        tracer_(tracer_module(profile)),
        found_(profile),
        functions_(profile.functions.size()),
        leaves_(profile.stacks.size() < profile.all_samples().size() ? profile.stacks.size() : 0) {
    for (const HeapHook& hook : profile.heap.hooks)
      if (hook.kind != HookKind::kNone) hooked_.insert(profile.strings[hook.function]);
    for (const HeapAllocator& allocator : profile.heap.allocators)
      if (allocator.module.value != 0) modules_.insert(allocator.module.value);
  }

  LeafKind of(StackId stack) {
    if (leaves_.empty()) return look_at(stack);
    LeafKind& leaf = leaves_[stack.value];
    if (!leaf.known) leaf = look_at(stack);
    return leaf;
  }

 private:
  LeafKind look_at(StackId stack) {
    LeafKind leaf;
    leaf.known = true;
    bool user = false;
    for (StackId at = stack; at.value != 0; at = profile_.stacks[at.value].parent) {
      const Frame& frame = profile_.frames[profile_.stacks[at.value].frame.value];
      const Module& module = profile_.modules[frame.module.value];
      if (module.kind == ModuleKind::kKernel) {
        leaf.kernel = leaf.kernel || !user;
        if (frame.line_count != 0 && name_of(frame, 0).find("page_fault") != std::string_view::npos)
          leaf.page_fault = true;
        continue;
      }
      user = true;
      if (tracer_ && frame.module == *tracer_) continue;  // it calls the program's allocator
      if (frame.line_count == 0) {  // inside of an allocator's module below its functions, or a stranger
        if (!is_library_with_allocator(frame.module)) break;
        continue;
      }
      std::uint32_t line = 0;
      bool stranger = false;
      for (; line < frame.line_count; ++line) {
        const FrameKind kind = kind_of(profile_.lines[frame.first_line + line].function);
        if (kind == FrameKind::kAllocator) leaf.allocator = true;
        if (kind != FrameKind::kAllocator && kind != FrameKind::kNeutral) {
          stranger = true;
          break;
        }
      }
      if (!stranger) continue;
      if (leaf.allocator) {
        leaf.asked = at;
        leaf.line = line;
      } else if (is_library_with_allocator(frame.module)) {
        continue;  // memset below calloc
      }
      break;
    }
    return leaf;
  }

  std::string_view name_of(const Frame& frame, std::uint32_t line) const {
    return profile_.strings[profile_.functions[profile_.lines[frame.first_line + line].function.value].name];
  }

  // Not the program itself, if an allocator is linked in with everything else.
  bool is_library_with_allocator(ModuleId module) const {
    if (!modules_.contains(module.value)) return false;
    const std::string_view name = profile_.strings[profile_.modules[module.value].name];
    return name.starts_with("lib") && name.find(".so") != std::string_view::npos;
  }

  FrameKind kind_of(FunctionId function) {
    FrameKind& kind = functions_[function.value];
    if (kind != FrameKind::kUnknown) return kind;
    const Function& row = profile_.functions[function.value];
    std::string_view name = profile_.strings[row.name];
    if (name.starts_with("__GI_")) name.remove_prefix(5);  // what glibc calls within itself
    const ContainerFrame container = container_frame_of(name);
    if (container == ContainerFrame::kAllocator || container == ContainerFrame::kWrapper ||
        is_inside_allocator(name) || hooked_.contains(name) || found_.own(row))
      kind = FrameKind::kAllocator;
    else if (starts_with_any(name, {"__memset", "__memmove",  "__memcpy",
                                    "memset",   "memcpy",     "memmove",
                                    "madvise",  "__madvise",  "munmap",
                                    "__munmap", "mmap",       "__mmap",
                                    "brk",      "__brk",      "sbrk",
                                    "__sbrk",   "mremap",     "__mremap",
                                    "mprotect", "__mprotect", "__lll_lock_wait_private"}))
      kind = FrameKind::kNeutral;
    else
      kind = FrameKind::kOther;
    return kind;
  }

  const Profile& profile_;
  std::optional<ModuleId> tracer_;
  FoundAllocators found_;
  std::set<std::string_view> hooked_;
  std::set<std::uint32_t> modules_;
  std::vector<FrameKind> functions_;
  // By stack. Empty where there are more stacks than samples, as in a text of a million stacks: then none is asked for twice.
  std::vector<LeafKind> leaves_;
};

struct Draft {
  AllocatorCpu sums;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> asked;  // by frame and line
};

// By process, or all of them as process 0.
std::optional<std::map<std::uint32_t, Draft>> add_up(const Profile& profile, const Selection& selection,
                                                     bool by_process) {
  Selection cpu = selection;
  cpu.metric = Metric::kCpu;
  const Filter filter(profile, cpu);
  Classes classes(profile);
  std::optional<HeapLeaves> leaves;  // as large as the table of stacks, and few profiles need it
  ValueBudget budget;
  std::map<std::uint32_t, Draft> drafts;
  bool any = false;
  for (const Sample& sample : profile.all_samples()) {
    if (sample.metric != Metric::kCpu) continue;
    any = true;
    if (!filter.takes_all(sample)) continue;
    Draft& draft = drafts[by_process ? profile.threads[sample.thread.value].process.value : 0];
    AllocatorCpu& result = draft.sums;
    const std::int64_t value = std::max<std::int64_t>(0, budget.take(sample.value));
    if (!filter.takes(sample)) {
      result.tracer += value;
      continue;
    }
    const LeafKind leaf = classes.of(sample.stack);
    result.total += value;
    if (leaf.page_fault) result.page_faults += value;
    if (!leaf.allocator) continue;
    result.inside += value;
    if (leaf.kernel) result.kernel += value;
    if (leaf.asked.value == 0) continue;
    // Named as the heap names it, so that the two can be joined: std::string that grows is not who wanted it.
    if (!leaves) leaves.emplace(profile, selection, true);
    const HeapLeaf wanted = leaves->of(leaf.asked);
    const std::uint32_t line = wanted.stack == leaf.asked ? std::max(wanted.skip, leaf.line) : wanted.skip;
    draft.asked[{profile.stacks[wanted.stack.value].frame.value, line}] += value;
  }
  if (!any) return std::nullopt;
  return drafts;
}

AllocatorCpu named(const Profile& profile, Draft draft) {
  std::map<std::pair<std::string, std::string>, std::int64_t> functions;
  for (const auto& [place, value] : draft.asked) {
    const FrameId frame{place.first};
    const Module& module = profile.modules[profile.frames[frame.value].module.value];
    functions[{frame_name(profile, frame, place.second), std::string(profile.strings[module.name])}] += value;
  }
  AllocatorCpu result = std::move(draft.sums);
  for (const auto& [name, value] : functions) result.functions.push_back({name.first, name.second, value});
  stable_sort_rows(result.functions.begin(), result.functions.end(),
                   [](const AllocatorCpuRow& a, const AllocatorCpuRow& b) { return a.inside > b.inside; });
  return result;
}

}  // namespace

struct AllocatorStacks::Known {
  explicit Known(const Profile& profile) : classes(profile) {}
  Classes classes;
};

AllocatorStacks::AllocatorStacks(const Profile& profile) : known_(std::make_unique<Known>(profile)) {}
AllocatorStacks::~AllocatorStacks() = default;

AllocatorWork AllocatorStacks::of(StackId stack) {
  const LeafKind leaf = known_->classes.of(stack);
  return {leaf.allocator, leaf.page_fault};
}

std::optional<AllocatorCpu> allocator_cpu(const Profile& profile, const Selection& selection) {
  auto drafts = add_up(profile, selection, false);
  if (!drafts) return std::nullopt;
  return named(profile, std::move((*drafts)[0]));
}

std::optional<std::map<std::uint32_t, AllocatorCpu>> allocator_cpu_by_process(const Profile& profile,
                                                                              const Selection& selection) {
  auto drafts = add_up(profile, selection, true);
  if (!drafts) return std::nullopt;
  std::map<std::uint32_t, AllocatorCpu> processes;
  for (auto& [process, draft] : *drafts) processes[process] = named(profile, std::move(draft));
  return processes;
}

}  // namespace fathom::analysis
