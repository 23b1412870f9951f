#include "analysis/core/unseen_allocators.h"

#include <algorithm>

namespace fathom::analysis {
namespace {

using namespace model;

// By allocator: the note of one of its functions, or nothing where one is hooked or it has none.
struct Hooks {
  bool any = false, hooked = false;
  StringId note;
};

std::vector<Hooks> hooks_of(const HeapTables& heap) {
  std::vector<Hooks> all(heap.allocators.size());
  for (const HeapHook& hook : heap.hooks) {
    Hooks& of = all[hook.allocator.value];
    if (!of.any) of.note = hook.note;
    of.any = true;
    of.hooked = of.hooked || hook.kind != HookKind::kNone;
  }
  return all;
}

}  // namespace

std::vector<UnseenAllocator> unseen_allocators(const Profile& profile) {
  const HeapTables& heap = profile.heap;
  const std::vector<Hooks> hooks = hooks_of(heap);
  std::vector<UnseenAllocator> unseen;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!hooks[i].any || hooks[i].hooked) continue;
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
  const std::vector<Hooks> hooks = hooks_of(heap);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!hooks[i].hooked) continue;
    std::string label(profile.strings[heap.allocators[i].label]);
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace fathom::analysis
