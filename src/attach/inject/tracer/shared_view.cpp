#include "attach/inject/tracer/shared_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <system_error>

#include "attach/inject/stop/target.h"
#include "base/parse.h"
#include "linux/process/status.h"

namespace fathom::inject {
namespace {

constexpr std::uint64_t kEndOfUserAddresses = std::uint64_t{1} << 47;

tl::unexpected<Error> damaged(std::string what) {
  return fail(ErrorKind::kMalformed, "the head of the tracer's memory is damaged: " + what);
}

bool is_user_range(std::uint64_t start, std::uint64_t bytes) {
  return start != 0 && bytes <= kEndOfUserAddresses && start <= kEndOfUserAddresses - bytes;
}

Result<> check_layout(const tracer_shared& head, std::uint64_t mapped_bytes) {
  if (head.bytes != mapped_bytes)
    return damaged(fmt::format("{} bytes are mapped, and it names {}", mapped_bytes, head.bytes));
  const auto fits = [&](std::uint64_t offset, std::uint64_t count, std::uint64_t size) {
    return offset >= sizeof(tracer_shared) && offset <= head.bytes && count <= (head.bytes - offset) / size;
  };
  if (!fits(head.mappings_offset, head.mappings_count, sizeof(unwind_mapping)) ||
      !fits(head.pages_offset, head.pages_count, sizeof(unwind_page)) ||
      !fits(head.rows_offset, head.rows_count, sizeof(unwind_row)) ||
      !fits(head.rules_offset, head.rules_count, sizeof(unwind_rule)))
    return damaged("an unwind table lies outside it");
  const std::uint64_t ring = head.ring_bytes;
  if (ring == 0 || (ring & (ring - 1)) != 0 || head.ring_stride < TRACER_RING_DATA + ring ||
      !fits(head.rings_offset, head.ring_count, head.ring_stride))
    return damaged("its rings lie outside it");
  return {};
}

Result<> check_entry(const tracer_journal_entry& entry, std::size_t number) {
  const bool slot = entry.kind == TRACER_HOOK_SLOT;
  if (!slot && entry.kind != TRACER_HOOK_ENTRY)
    return damaged(fmt::format("change {} is of kind {}", number, entry.kind));
  if (entry.length == 0 || entry.length > sizeof(entry.before) || (slot && entry.length != sizeof(u64)) ||
      (slot && entry.address % sizeof(u64) != 0))
    return damaged(fmt::format("change {} is of {} bytes at 0x{:x}", number, entry.length, entry.address));
  if (entry.in > 1 || !is_user_range(entry.address, entry.length))
    return damaged(fmt::format("change {} is at 0x{:x}", number, entry.address));
  return {};
}

}  // namespace

std::vector<process::MapEntry> find_shared(std::span<const process::MapEntry> maps) {
  std::vector<process::MapEntry> found;
  std::copy_if(maps.begin(), maps.end(), std::back_inserter(found), [](const process::MapEntry& entry) {
    return entry.path == kSharedPath && entry.shared && entry.offset.value == 0;
  });
  return found;
}

Result<SharedView> check_head(const tracer_shared& copy, std::uint64_t mapped_bytes) {
  if (copy.magic != TRACER_MAGIC) return damaged("it has another mark");
  if (copy.version != TRACER_VERSION || copy.header_bytes != sizeof(tracer_shared))
    return fail(ErrorKind::kUnsupported, "the tracer is of another version of fathom");
  if (auto done = check_layout(copy, mapped_bytes); !done) return tl::unexpected<Error>(done.error());
  if (copy.own_count > TRACER_OWN_MAPPINGS)
    return damaged(fmt::format("it names {} mappings", copy.own_count));
  if (copy.journal_count > TRACER_JOURNAL)
    return damaged(fmt::format("it names {} changes", copy.journal_count));

  SharedView view;
  view.profiler_pid = copy.profiler_pid;
  view.profiler_start = copy.profiler_start;
  for (std::size_t i = 0; i < copy.own_count; ++i) {
    const tracer_own_mapping& own = copy.own[i];
    if (own.bytes == 0 || !is_user_range(own.address, own.bytes))
      return damaged(fmt::format("mapping {} is of {} bytes at 0x{:x}", i, own.bytes, own.address));
    view.own.push_back(own);
  }
  for (std::size_t i = 0; i < copy.journal_count; ++i) {
    if (auto done = check_entry(copy.journal[i], i); !done) return tl::unexpected<Error>(done.error());
    if (copy.journal[i].in != 0) view.journal.push_back(copy.journal[i]);
  }
  return view;
}

Result<SharedView> read_shared(const RemoteMemory& memory, const process::MapEntry& shared) {
  // On the heap: it is 60 KB.
  auto copy = std::make_unique<tracer_shared>();
  if (shared.size() < sizeof(*copy)) return damaged(fmt::format("{} bytes are mapped", shared.size()));
  if (auto done = memory.read(shared.start, std::as_writable_bytes(std::span(copy.get(), 1))); !done)
    return damaged(done.error().message);
  return check_head(*copy, shared.size());
}

std::optional<int> living_profiler(const SharedView& view, const process::MapEntry& shared) {
  const auto stat = process::read_stat(view.profiler_pid);
  if (!stat || stat->start_ticks != view.profiler_start || stat->state == 'Z' || stat->state == 'X')
    return std::nullopt;
  const auto maps = process::read_maps(view.profiler_pid);
  if (!maps) return view.profiler_pid;
  const bool has_it = std::any_of(maps->begin(), maps->end(), [&](const process::MapEntry& entry) {
    return entry.inode == shared.inode && entry.device_major == shared.device_major &&
           entry.device_minor == shared.device_minor && entry.path == shared.path;
  });
  return has_it ? std::optional(view.profiler_pid) : std::nullopt;
}

// "1: FLOCK  ADVISORY  READ  708 00:01:1234 0 EOF"; one that waits has "->" in front of its kind.
std::optional<int> locking_profiler(std::string_view locks, const process::MapEntry& shared) {
  const std::string file =
      fmt::format(" {:02x}:{:02x}:{} ", shared.device_major, shared.device_minor, shared.inode);
  while (!locks.empty()) {
    const std::string_view line = take_until(locks, '\n');
    const std::size_t at = line.find(file);
    if (at == line.npos || line.find(": FLOCK ") == line.npos) continue;
    const std::size_t begin = line.rfind(' ', at - 1) + 1;
    const auto pid = parse_number<int>(line.substr(begin, at - begin));
    if (pid > 0) return pid;
  }
  return std::nullopt;
}

}  // namespace fathom::inject
