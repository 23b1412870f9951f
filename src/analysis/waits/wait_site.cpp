#include "analysis/waits/wait_site.h"

#include <algorithm>
#include <array>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {
namespace {

constexpr std::array<std::string_view, 12> kLibraryFiles = {
    "libc.so",  "libc-",     "libpthread", "libm.so",    "ld-linux", "ld-musl",
    "libgcc_s", "libstdc++", "libc++",     "linux-vdso", "[vdso]",   "liburing"};
constexpr std::array<std::string_view, 38> kLibraryNames = {"std::",
                                                            "<std::",
                                                            "core::",
                                                            "<core::",
                                                            "alloc::",
                                                            "<alloc::",
                                                            "parking_lot",
                                                            "<parking_lot",
                                                            "lock_api::",
                                                            "<lock_api::",
                                                            "crossbeam_",
                                                            "<crossbeam_",
                                                            "once_cell::",
                                                            "futures_",
                                                            "tokio::sync::",
                                                            "tokio::park::",
                                                            "tokio::runtime::park::",
                                                            "mio::",
                                                            "rustix::",
                                                            "nix::",
                                                            "absl::",
                                                            "folly::",
                                                            "boost::",
                                                            "rocksdb::port::",
                                                            "rocksdb::InstrumentedMutex",
                                                            "rocksdb::InstrumentedCondVar",
                                                            "pthread_",
                                                            "__pthread_",
                                                            "___pthread_",
                                                            "__lll_",
                                                            "__futex_",
                                                            "syscall",
                                                            "__GI_",
                                                            "__libc_",
                                                            "clone3",
                                                            "__clone",
                                                            "start_thread",
                                                            "_start"};

bool starts_with_any(std::string_view text, const auto& list) {
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

// visit(name, frame, number of its line) from the leaf on, user frames only, until it gives false.
template <class Visit>
void for_each_user_line(const model::Profile& profile, model::StackId stack, Visit visit) {
  for (; stack.value != 0; stack = profile.stacks[stack.value].parent) {
    const model::FrameId id = profile.stacks[stack.value].frame;
    const model::Frame& frame = profile.frames[id.value];
    if (profile.modules[frame.module.value].kind == model::ModuleKind::kKernel) continue;
    for (std::uint32_t line = 0; line < std::max(frame.line_count, 1u); ++line) {
      if (!visit(frame_name(profile, id, line), frame, line)) return;
    }
  }
}

}  // namespace

std::string_view to_string(FutexKind kind) {
  switch (kind) {
    case FutexKind::kCondition:
      return "condition";
    case FutexKind::kPark:
      return "park";
    case FutexKind::kJoin:
      return "join";
    case FutexKind::kLock:
      break;
  }
  return "lock";
}

const std::string& WaitSites::of(model::StackId stack) {
  std::optional<std::string>& known = known_[stack.value];
  if (known) return *known;
  std::string innermost, of_no_library;
  for_each_user_line(profile_, stack, [&](std::string name, const model::Frame& frame, std::uint32_t line) {
    const model::Module& module = profile_.modules[frame.module.value];
    const bool library = module.kind == model::ModuleKind::kVdso ||
                         starts_with_any(profile_.strings[module.name], kLibraryFiles) ||
                         starts_with_any(name, kLibraryNames);
    const std::string_view file =
        line < frame.line_count
            ? std::string_view(profile_.strings[profile_.lines[frame.first_line + line].file])
            : "";
    const bool own = !library && own_code_.is_own(name, frame.module, file);
    if (own) known = name;
    if (!library && of_no_library.empty()) of_no_library = name;
    if (innermost.empty()) innermost = std::move(name);
    return !own;
  });
  if (!known && !of_no_library.empty()) known = std::move(of_no_library);
  if (!known && innermost.empty()) {  // a kernel thread, or nothing at all
    model::StackId root = stack;
    while (root.value != 0 && profile_.stacks[root.value].parent.value != 0)
      root = profile_.stacks[root.value].parent;
    innermost = root.value == 0 ? "[no stack]" : frame_name(profile_, profile_.stacks[root.value].frame);
  }
  if (!known) known = innermost;
  return *known;
}

FutexKind WaitSites::futex_kind(model::StackId stack) const {
  FutexKind kind = FutexKind::kLock;
  std::size_t seen = 0;
  for_each_user_line(profile_, stack, [&](const std::string& name, const model::Frame&, std::uint32_t) {
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    if (has("cond_wait") || has("cond_timedwait") || has("cond_clockwait") || has("ondvar") ||
        has("CondVar") || has("condition_variable")) {
      kind = FutexKind::kCondition;
    } else if (has("join")) {
      kind = FutexKind::kJoin;
    } else if (has("park") && !has("parking_lot")) {
      kind = FutexKind::kPark;
    }
    return kind == FutexKind::kLock && ++seen < 6;  // farther out it is about something else
  });
  return kind;
}

std::string WaitSites::path(model::StackId stack, std::size_t most) const {
  std::string text;
  std::size_t shown = 0;
  for_each_user_line(profile_, stack, [&](const std::string& name, const model::Frame&, std::uint32_t) {
    if (shown == most) {
      text += " < ...";
      return false;
    }
    text += (shown++ == 0 ? "" : " < ") + name;
    return true;
  });
  return text.empty() ? "[no user stack]" : text;
}

}  // namespace fathom::analysis
