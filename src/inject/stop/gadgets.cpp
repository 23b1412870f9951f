#include "inject/stop/gadgets.h"

#include <algorithm>
#include <array>
#include <functional>

namespace fathom::inject {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

template <std::size_t n>
constexpr std::array<std::byte, n> bytes_of(const std::uint8_t (&values)[n]) {
  std::array<std::byte, n> bytes{};
  for (std::size_t i = 0; i < n; ++i) bytes[i] = std::byte{values[i]};
  return bytes;
}
constexpr auto kSyscall = bytes_of({0x0f, 0x05});
constexpr auto kSyscallRet = bytes_of({0x0f, 0x05, 0xc3});
constexpr auto kSigreturnLong = bytes_of({0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05});  // glibc, musl
constexpr auto kSigreturnShort = bytes_of({0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05});

std::optional<std::size_t> find(std::span<const std::byte> text, std::span<const std::byte> pattern) {
  const auto at = std::search(text.begin(), text.end(), pattern.begin(), pattern.end());
  if (at == text.end()) return std::nullopt;
  return static_cast<std::size_t>(at - text.begin());
}

// The C library first: it holds all of them near each other, and the vdso a bare `syscall`.
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
  std::stable_sort(code.begin(), code.end(),
                   [](const auto* a, const auto* b) { return rank(*a) < rank(*b); });

  std::optional<ProcessAddress> bare, with_ret, way_back;
  std::vector<std::byte> chunk;
  for (const auto* entry : code) {
    for (std::uint64_t at = entry->start.value; at < entry->end.value; at += kChunk) {
      // Some bytes more than the step: an instruction may lie across.
      chunk.resize(std::min<std::uint64_t>(kChunk + 16, entry->end.value - at));
      const auto read = memory.read_some({at}, chunk);
      const std::span<const std::byte> text(chunk.data(), read);
      const auto note = [&](std::optional<ProcessAddress>& found, std::span<const std::byte> pattern) {
        if (found) return;
        if (const auto place = find(text, pattern)) found = ProcessAddress{at + *place};
      };
      note(bare, kSyscall);
      note(with_ret, kSyscallRet);
      note(way_back, kSigreturnLong);
      note(way_back, kSigreturnShort);
      if (with_ret && way_back) return Gadgets{*with_ret, way_back};
    }
  }
  if (bare) return Gadgets{*bare, std::nullopt};
  return fail(ErrorKind::kUnsupported, "the process holds no syscall instruction that could be borrowed");
}

}  // namespace fathom::inject
