#include "attach/inject/stop/thread_id.h"

#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "linux/process/status.h"

namespace fathom::inject {
namespace {

// glibc 2.3 to 2.41: struct pthread after a tcbhead_t of 0x2c0 bytes and a list of two pointers. musl: 0x38
// before 1.2.2, 0x30 since.
constexpr std::uint32_t kKnown[] = {0x2d0, 0x30, 0x38};
constexpr std::size_t kBlock = 0x400;

}  // namespace

std::optional<std::int32_t> own_tid(int pid, int tid) {
  const auto text = read_file(fmt::format("/proc/{}/task/{}/status", pid, tid));
  if (!text) return std::nullopt;
  const auto status = process::parse_status(*text);
  if (!status) return std::nullopt;
  return status->namespace_pids.empty() ? tid : status->namespace_pids.back();
}

std::uint32_t find_tid_offset(int pid, const StoppedThread& thread, const RemoteMemory& memory) {
  const std::uint64_t base = arch::thread_pointer(thread.registers);
  const auto tid = own_tid(pid, thread.tid);
  if (base == 0 || !tid) return 0;
  std::array<std::int32_t, kBlock / sizeof(std::int32_t)> block{};
  const std::size_t words =
      memory.read_some({base}, std::as_writable_bytes(std::span(block))) / sizeof(std::int32_t);
  for (const std::uint32_t offset : kKnown)
    if (offset / sizeof(std::int32_t) < words && block[offset / sizeof(std::int32_t)] == *tid) return offset;
  if (thread.tid == pid) return 0;
  std::uint32_t found = 0;
  for (std::size_t i = 1; i < words; ++i) {
    if (block[i] != *tid) continue;
    if (found != 0) return 0;
    found = static_cast<std::uint32_t>(i * sizeof(std::int32_t));
  }
  return found;
}

}  // namespace fathom::inject
