#include "attach/inject/stop/gadgets.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/arch/call_instructions.h"
#include "base/stable_sort.h"

namespace fathom::inject {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

std::optional<std::size_t> find(std::span<const std::byte> text, std::span<const std::byte> pattern) {
  const auto at = std::search(text.begin(), text.end(), pattern.begin(), pattern.end());
  if (at == text.end()) return std::nullopt;
  return static_cast<std::size_t>(at - text.begin());
}

// The C library first: it contains all of them, close together, and the vdso a bare `syscall`.
int rank(const process::MapEntry& entry) {
  const auto holds = [&](std::string_view part) { return entry.path.find(part) != std::string::npos; };
  if (holds("/libc.") || holds("/libc-") || holds("/ld-musl")) return 0;
  if (entry.path == "[vdso]") return 1;
  return entry.is_file() ? 2 : 3;
}

}  // namespace

Result<Gadgets> find_gadgets(std::span<const process::MapEntry> maps, const RemoteMemory& memory) {
  std::vector<const process::MapEntry*> code;
  for (const auto& entry : maps)
    if (entry.executable && entry.readable && entry.path != "[vsyscall]") code.push_back(&entry);
  stable_sort_rows(code.begin(), code.end(),
                   [](const auto* a, const auto* b) { return rank(*a) < rank(*b); });

  std::optional<ProcessAddress> bare, with_ret, way_back;
  std::vector<std::byte> chunk;
  for (const auto* entry : code) {
    for (std::uint64_t at = entry->start.value; at < entry->end.value; at += kChunk) {
      // Some more bytes than the step: an instruction may cross the boundary.
      chunk.resize(std::min<std::uint64_t>(kChunk + 16, entry->end.value - at));
      const auto read = memory.read_some({at}, chunk);
      const std::span<const std::byte> text(chunk.data(), read);
      const auto note = [&](std::optional<ProcessAddress>& found, std::span<const std::byte> pattern) {
        if (found) return;
        if (const auto place = find(text, pattern)) found = ProcessAddress{at + *place};
      };
      note(bare, arch::kCallInstruction);
      note(with_ret, arch::kCallAndReturn);
      note(way_back, arch::kWayBackLong);
      note(way_back, arch::kWayBackShort);
      if (with_ret && way_back) return Gadgets{*with_ret, way_back};
    }
  }
  if (bare) return Gadgets{*bare, std::nullopt};
  return fail(ErrorKind::kUnsupported, "the process holds no syscall instruction that could be borrowed");
}

}  // namespace fathom::inject
