#include "record/session/waits/blocked_walk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/arch/branches.h"
#include "model/system_call.h"
#include "record/session/tracking/copied_walk.h"
#include "record/session/tracking/stack_number.h"

namespace fathom::session {
namespace {

// What is copied first is enough for most; large frames, such as those of asynchronous Rust, take a second
// copy.
constexpr std::array<std::size_t, 3> kStackBytes = {16 * 1024, 64 * 1024, 256 * 1024};
// How far above the stack pointer a frame pointer is looked for.
constexpr std::size_t kFramePointerReach = 16 * 1024;
// Frees the numbers of these stacks from those that the kernel's walker gives.
constexpr std::uint64_t kSalt = 0x70726f6377616974;

template <class T>
std::optional<T> read_memory(std::int32_t pid, std::uint64_t address) {
  T value{};
  iovec local{&value, sizeof(value)};
  iovec remote{reinterpret_cast<void*>(address), sizeof(value)};
  if (::process_vm_readv(pid, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(sizeof(value)))
    return std::nullopt;
  return value;
}

// The file behind the first argument, without making a network file system ask its server.
void add_file(sources::Waited& wait) {
  if (wait.system_call < 0 || !model::takes_descriptor(wait.system_call)) return;
  const std::string path =
      fmt::format("/proc/{}/fd/{}", wait.pid, static_cast<std::int32_t>(wait.arguments[0]));
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_INO | STATX_TYPE, &status) != 0) return;
  wait.inode = status.stx_ino;
  wait.device = status.stx_dev_major << 20 | (status.stx_dev_minor & 0xfffff);
  wait.file_mode = status.stx_mode & S_IFMT;
}

}  // namespace

BlockedWalker::Seen& BlockedWalker::seen(std::int32_t pid) {
  const auto [known, is_new] = processes_seen_.try_emplace(pid);
  if (!is_new) return known->second;
  known->second.salt = kSalt + ++salt_;
  known->second.space = address_space_of(processes_.mappings(pid));
  return known->second;
}

std::optional<std::uint64_t> BlockedWalker::function_start(std::int32_t pid, std::uint64_t address) {
  const CodeMapping* mapping = processes_.find(pid, address);
  if (mapping == nullptr || !mapping->module->file) return std::nullopt;
  const auto [known, is_new] = bounds_.try_emplace(mapping->module);
  if (is_new) known->second = unwind::function_bounds(mapping->module->file->elf());
  const ElfAddress inside{address - mapping->bias};
  const auto after =
      std::upper_bound(known->second.begin(), known->second.end(), inside,
                       [](ElfAddress value, const auto& bound) { return value < bound.first; });
  if (after == known->second.begin()) return std::nullopt;
  const auto& [start, size] = *std::prev(after);
  if (inside.value - start.value >= size) return std::nullopt;
  return start.value + mapping->bias;
}

BlockedWalker::Caller BlockedWalker::calls(std::int32_t pid, std::uint64_t return_address,
                                           std::uint64_t inside) {
  if (processes_.find(pid, return_address) == nullptr) return Caller::kNone;
  const auto before = read_memory<std::array<std::byte, 8>>(pid, return_address - 8);
  if (!before) return Caller::kNone;
  const arch::CallBefore call = arch::call_before(*before, return_address);
  if (call.kind == arch::CallBefore::Kind::kNone) return Caller::kNone;
  if (call.kind == arch::CallBefore::Kind::kIndirect) return Caller::kPossible;
  if (call.target == function_start(pid, inside)) return Caller::kCertain;
  const auto code = read_memory<std::array<std::byte, 8>>(pid, call.target);
  return code && arch::linkage_entry(*code, call.target).word ? Caller::kPossible : Caller::kNone;
}

walk_end BlockedWalker::walk_stack(std::int32_t pid, const unwind::AddressSpace& space,
                                   const sources::BlockedThread& thread) {
  const unwind::Unwinder unwinder(
      space, [pid](ProcessAddress address) { return read_memory<std::uint64_t>(pid, address.value); });
  unwind::UnwindInput input;
  input.pc = thread.instruction_pointer;
  input.sp = thread.stack_pointer;
  input.stack_start = ProcessAddress{thread.stack_pointer};
  input.stack = thread.stack;
  frames_.clear();
  const walk_end end = unwinder.unwind(input, frames_);
  if (end != WALK_NO_PROGRESS && end != WALK_READ_FAULT && end != WALK_NO_RULE) return end;

  // The last frame needs the frame pointer.
  const std::uint64_t inside = frames_.back().for_lookup().value;
  const std::size_t reach = std::min(thread.stack.size(), kFramePointerReach);
  std::optional<std::vector<FrameAddress>> possible;
  for (std::size_t at = 0; at + 16 <= reach; at += 8) {
    std::uint64_t return_address;
    std::memcpy(&return_address, thread.stack.data() + at + 8, sizeof(return_address));
    if (space.find(ProcessAddress{return_address}) == nullptr) continue;
    const Caller caller = calls(pid, return_address, inside);
    if (caller == Caller::kNone || (caller == Caller::kPossible && possible)) continue;
    input.fp = thread.stack_pointer + at;
    attempt_.clear();
    if (unwinder.unwind(input, attempt_) != WALK_ROOT || attempt_.size() <= frames_.size()) continue;
    if (caller == Caller::kCertain) {
      frames_.swap(attempt_);
      return WALK_ROOT;
    }
    possible = attempt_;
  }
  if (!possible) return end;
  frames_ = std::move(*possible);
  return WALK_ROOT;
}

Result<std::optional<BlockedWait>> BlockedWalker::walk(const sources::BlockedThreadFile& file,
                                                       std::int32_t pid, std::int32_t tid,
                                                       std::uint64_t out_ns) {
  const Seen& process = seen(pid);
  BlockedWait found;
  for (const std::size_t stack_bytes : kStackBytes) {
    auto thread = file.read(stack_bytes);
    if (!thread) return tl::unexpected<Error>(thread.error());
    if (!*thread) return std::optional<BlockedWait>();
    sources::Waited& wait = found.wait;
    wait.system_call = (*thread)->system_call;
    std::copy_n((*thread)->arguments.begin(), 4, wait.arguments);
    if ((*thread)->stack_pointer == 0) {
      frames_.clear();
      found.stack.end = WALK_EXITING;
      break;
    }
    const walk_end end = walk_stack(pid, process.space, **thread);
    found.stack.end = static_cast<std::uint8_t>(end);
    if (end != WALK_STACK_CUT || (*thread)->stack_ends) break;
  }
  found.stack.time_ns = found.wait.out_ns = out_ns;
  found.stack.pid = found.wait.pid = pid;
  for (const FrameAddress& frame : frames_) {
    const bool exact = frame.kind == FrameAddress::Kind::kInstructionPointer;
    found.stack.user.push_back(frame.address.value | (exact ? WALK_EXACT : 0));
  }
  found.stack.kernel = kernel_.read(pid, tid);
  found.stack.stack_id = found.wait.stack_id = stack_number(found.stack, process.salt);
  found.wait.tid = tid;
  found.wait.state = 1;
  found.wait.began_before = true;
  add_file(found.wait);
  return std::optional(std::move(found));
}

std::optional<BlockedWait> BlockedWalker::walk(std::int32_t pid, std::int32_t tid, std::uint64_t out_ns) {
  const auto file = sources::BlockedThreadFile::open(pid, tid);
  if (!file) return std::nullopt;
  auto found = walk(*file, pid, tid, out_ns);
  return found ? std::move(*found) : std::nullopt;
}

}  // namespace fathom::session
