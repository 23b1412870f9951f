#include "binary/elf/probe_notes.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

#include "base/cursor.h"

namespace fathom::elf {
namespace {

constexpr std::uint32_t kProbeNote = 3;
constexpr std::string_view kOwner("stapsdt\0", 8);
// The largest programs known have some thousands (PostgreSQL, the JVM). Each becomes three strings of ours.
constexpr std::size_t kMostNotes = 1 << 16;
constexpr std::size_t kMostBytes = 16 << 20;

tl::unexpected<Error> malformed(const ElfFile& file, std::size_t offset, std::string_view what) {
  return fail(ErrorKind::kMalformed,
              fmt::format("{}: .note.stapsdt: the note at offset {} {}", file.name(), offset, what));
}

std::uint64_t padded(std::uint32_t bytes) {
  return (std::uint64_t{bytes} + 3) / 4 * 4;
}

}  // namespace

Result<std::vector<ProbeNote>> read_probe_notes(const ElfFile& file) {
  std::vector<ProbeNote> notes;
  const Section* section = file.section(".note.stapsdt");
  if (section == nullptr || section->type != SHT_NOTE) return notes;
  const auto contents = file.contents(*section);
  if (!contents) return tl::unexpected<Error>(contents.error());
  if (contents->bytes().size() > kMostBytes)
    return fail(ErrorKind::kMalformed,
                fmt::format("{}: .note.stapsdt takes {} bytes", file.name(), contents->bytes().size()));
  // A linker or prelinker that moves code moves this section with it and leaves the notes as they are: they say where it was.
  const Section* base = file.section(".stapsdt.base");
  Cursor in(contents->bytes());
  while (in.remaining() > 0) {
    const std::size_t start = in.offset();
    const auto owner_size = in.read<std::uint32_t>(), size = in.read<std::uint32_t>(),
               type = in.read<std::uint32_t>();
    Cursor owner = in.sub(padded(owner_size)), body = in.sub(size);
    if (padded(size) - size <= in.remaining()) in.skip(padded(size) - size);  // the last one may lack it
    if (!in.ok()) return malformed(file, start, "is cut short");
    if (type != kProbeNote || owner_size != kOwner.size() || owner.read_c_string() != kOwner.substr(0, 7))
      continue;
    ProbeNote note;
    note.location.value = body.read<std::uint64_t>();
    const auto base_then = body.read<std::uint64_t>();
    note.semaphore.value = body.read<std::uint64_t>();
    note.provider = body.read_c_string();
    note.name = body.read_c_string();
    note.arguments = body.read_c_string();
    if (!body.ok()) return malformed(file, start, "is cut short");
    if (note.provider.empty() || note.name.empty()) return malformed(file, start, "names no probe");
    if (notes.size() == kMostNotes)
      return fail(ErrorKind::kMalformed,
                  fmt::format("{}: .note.stapsdt: more than {} notes", file.name(), kMostNotes));
    const std::uint64_t moved = base != nullptr && base_then != 0 ? base->address.value - base_then : 0;
    note.location.value += moved;
    if (note.semaphore.value != 0) note.semaphore.value += moved;
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace fathom::elf
