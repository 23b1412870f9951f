#include "attach/inject/tracer/restoration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/arch/common/entry_plan.h"

namespace fathom::inject {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kJump = arch::kPatchedJumpBytes;
constexpr std::size_t kMostChanged = sizeof(tracer_journal_entry::before);
constexpr std::size_t kMostLeft = 8;  // a malicious target can create any number

void leave(Restoration& found, std::string what) {
  if (found.left.size() < kMostLeft) found.left.push_back(std::move(what));
}

tracer_journal_entry change(tracer_hook_kind kind, std::uint64_t address, std::span<const std::byte> before,
                            std::span<const std::byte> after) {
  tracer_journal_entry entry{};
  entry.address = address;
  std::memcpy(entry.before, before.data(), before.size());
  std::memcpy(entry.after, after.data(), after.size());
  entry.length = static_cast<u8>(before.size());
  entry.kind = static_cast<u8>(kind);
  entry.in = 1;
  return entry;
}

}  // namespace

bool Restorer::is_code_of_module(std::uint64_t address) const {
  const process::MapEntry* entry = files_.mapping_of(address);
  return entry != nullptr && ModuleFiles::is_text(*entry);
}

bool Restorer::is_jump_into_islands(std::uint64_t address, std::span<const std::byte> bytes) const {
  const auto target = arch::patched_jump_target(bytes, {address});
  return target && places_.in_islands(target->value);
}

// Empty: it may be restored.
std::string Restorer::why_not(const tracer_journal_entry& entry) {
  const process::MapEntry* mapping = files_.mapping_of(entry.address, entry.length);
  if (entry.kind == TRACER_HOOK_SLOT) {
    std::uint64_t before = 0, after = 0;
    std::memcpy(&before, entry.before, sizeof(before));
    std::memcpy(&after, entry.after, sizeof(after));
    if (mapping == nullptr || !ModuleFiles::is_data(*mapping)) return "it lies in no module's data";
    if (!places_.in_image(after)) return "the value there is not the tracer's";
    if (!is_code_of_module(before)) return "the original value is not the address of a function";
    const auto filed = files_.word_at_start(entry.address);
    return filed && *filed != before ? "its file has a different original value" : "";
  }
  if (mapping == nullptr || !ModuleFiles::is_text(*mapping)) return "it lies in no module's code";
  const auto before = std::as_bytes(std::span(entry.before, entry.length));
  const auto after = std::as_bytes(std::span(entry.after, entry.length));
  std::array<std::byte, kMostChanged> filed{};
  const auto read =
      files_.read(*mapping, entry.address - mapping->start.value, std::span(filed).first(entry.length));
  // A deleted file can only be opened with privileges. Otherwise the jump has to be fathom's at least.
  if (!read) return is_jump_into_islands(entry.address, after) ? "" : "its file cannot be opened";
  return *read == entry.length && std::equal(before.begin(), before.end(), filed.begin())
             ? ""
             : "its file has a different original value";
}

Restoration Restorer::by_journal(std::span<const tracer_journal_entry> journal) {
  Restoration found;
  for (const tracer_journal_entry& entry : journal) {
    const std::string why = why_not(entry);
    if (why.empty())
      found.changes.push_back(entry);
    else
      leave(found, fmt::format("0x{:x} ({})", entry.address, why));
  }
  return found;
}

void Restorer::compare_text(const process::MapEntry& entry, Restoration& found) {
  // Some more bytes than the step: a change may cross the boundary.
  std::vector<std::byte> stored(kChunk + kMostChanged), now(stored.size());
  for (std::uint64_t start = 0; start < entry.size(); start += kChunk) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(stored.size(), entry.size() - start));
    const auto read = files_.read(entry, start, std::span(stored).first(wanted));
    if (!read) {
      leave(found, fmt::format("{} (the file cannot be opened, so its code was not compared)", entry.path));
      return;
    }
    const std::uint64_t base = entry.start.value + start;
    const std::size_t size = std::min(*read, memory_.read_some({base}, std::span(now).first(*read)));
    const std::size_t step = std::min(size, kChunk);
    for (std::size_t at = 0; at < step;) {
      constexpr std::size_t kPiece = 256;
      const std::size_t piece = std::min(kPiece, step - at);
      if (std::memcmp(stored.data() + at, now.data() + at, piece) == 0) {
        at += piece;
        continue;
      }
      while (stored[at] == now[at]) ++at;
      // The first bytes of a jump may be equal by chance.
      std::size_t first = at + 1;
      for (std::size_t back = 0; back < kJump && back <= at && first == at + 1; ++back)
        if (is_jump_into_islands(base + at - back, std::span(now).subspan(at - back, size - (at - back))))
          first = at - back;
      if (first == at + 1) {  // another program's change
        ++at;
        continue;
      }
      std::size_t length = kJump;  // and the breakpoints after it
      for (std::size_t i = kJump;
           i < kMostChanged && first + i < size && now[first + i] == arch::kPatchFiller; ++i)
        if (stored[first + i] != now[first + i]) length = i + 1;
      found.changes.push_back(change(TRACER_HOOK_ENTRY, base + first,
                                     std::span(stored).subspan(first, length),
                                     std::span(now).subspan(first, length)));
      at = first + length;
    }
  }
}

std::optional<std::uint64_t> Restorer::word_before(std::uint64_t address, std::uint64_t hook) {
  if (const auto filed = files_.word_at_start(address); filed && is_code_of_module(*filed)) return filed;
  // The image contains where each hook continues. It is not writable in the target, and is believed if it
  // names a function of a module.
  const std::uint64_t image = places_.image->start.value, bytes = places_.image->end.value - image;
  const auto header = memory_.get<tracer_image_header>({image});
  if (!header || header->magic != TRACER_MAGIC || header->version != TRACER_VERSION ||
      header->config_offset > bytes)
    return std::nullopt;
  const auto config = memory_.get<tracer_config>({image + header->config_offset});
  if (!config) return std::nullopt;
  for (std::size_t shape = 0; shape < TRACER_SHAPES; ++shape)
    for (std::size_t index = 0; index < TRACER_HOOKS; ++index)
      if (image + header->hook_offset[shape][index] == hook &&
          is_code_of_module(config->original[shape][index]))
        return config->original[shape][index];
  return std::nullopt;
}

void Restorer::search_data(const process::MapEntry& entry, Restoration& found) {
  std::vector<std::uint64_t> words(kChunk / sizeof(std::uint64_t));
  for (std::uint64_t start = 0; start < entry.size(); start += kChunk) {
    const auto bytes =
        std::as_writable_bytes(std::span(words))
            .first(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, entry.size() - start)));
    const std::size_t count = memory_.read_some({entry.start.value + start}, bytes) / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < count; ++i) {
      if (!places_.in_image(words[i])) continue;
      const std::uint64_t address = entry.start.value + start + i * sizeof(std::uint64_t);
      const auto before = word_before(address, words[i]);
      if (before)
        found.changes.push_back(change(TRACER_HOOK_SLOT, address, std::as_bytes(std::span(&*before, 1)),
                                       std::as_bytes(std::span(&words[i], 1))));
      else
        leave(
            found,
            fmt::format("0x{:x} (it holds an address of the tracer, and {} does not have the original value)",
                        address, entry.path));
    }
  }
}

Restoration Restorer::by_files() {
  Restoration found;
  // A mapped data file may be as large as the disk: only files with code are modules.
  const auto is_module = [&](const process::MapEntry& data) {
    return std::any_of(maps_.begin(), maps_.end(), [&](const process::MapEntry& entry) {
      return entry.inode == data.inode && entry.device_major == data.device_major &&
             entry.device_minor == data.device_minor && ModuleFiles::is_text(entry);
    });
  };
  for (const process::MapEntry& entry : maps_) {
    if (!places_.islands.empty() && ModuleFiles::is_text(entry)) compare_text(entry, found);
    if (places_.image && ModuleFiles::is_data(entry) && is_module(entry)) search_data(entry, found);
  }
  return found;
}

}  // namespace fathom::inject
