#include "analysis/core/unseen_allocators.h"

#include <algorithm>
#include <string_view>

namespace fathom::analysis {
namespace {

using namespace model;

// By allocator. The functions that give nearly all blocks are malloc and operator new, whatever their prefix: without
// them the others show nothing.
struct Hooks {
  bool any = false, hooked = false;
  bool gives = false, misses = false;  // such functions: one that is hooked, one that is not
  StringId note;                       // of one that is not hooked

  bool is_seen() const { return hooked && (gives || !misses); }
};

bool gives_blocks(std::string_view function) {
  return function.ends_with("malloc") || function.ends_with("mallocx") || function.starts_with("_Znw");
}

std::vector<Hooks> hooks_of(const HeapTables& heap, const StringTable& strings) {
  std::vector<Hooks> all(heap.allocators.size());
  for (const HeapHook& hook : heap.hooks) {
    Hooks& of = all[hook.allocator.value];
    const bool hooked = hook.kind != HookKind::kNone, gives = gives_blocks(strings[hook.function]);
    if (!hooked && (!of.any || (gives && !of.misses))) of.note = hook.note;
    of.any = true;
    of.hooked = of.hooked || hooked;
    of.gives = of.gives || (hooked && gives);
    of.misses = of.misses || (!hooked && gives);
  }
  return all;
}

}  // namespace

std::vector<UnseenAllocator> unseen_allocators(const Profile& profile) {
  const HeapTables& heap = profile.heap;
  const std::vector<Hooks> hooks = hooks_of(heap, profile.strings);
  std::vector<UnseenAllocator> unseen;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!hooks[i].any || hooks[i].is_seen()) continue;
    const HeapAllocator& row = heap.allocators[i];
    UnseenAllocator one{std::string(profile.strings[row.label]),
                        std::string(profile.strings[profile.modules[row.module.value].name]),
                        std::string(profile.strings[hooks[i].note])};
    if (std::find(unseen.begin(), unseen.end(), one) == unseen.end()) unseen.push_back(std::move(one));
  }
  return unseen;
}

std::vector<std::string> traced_allocators(const Profile& profile) {
  const HeapTables& heap = profile.heap;
  const std::vector<Hooks> hooks = hooks_of(heap, profile.strings);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!hooks[i].is_seen()) continue;
    std::string label(profile.strings[heap.allocators[i].label]);
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace fathom::analysis
