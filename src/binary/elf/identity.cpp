// What a module is known by across runs and machines.
#include <elf.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <memory>

#include "base/cursor.h"
#include "binary/elf/elf_file.h"

namespace fathom::elf {
namespace {

constexpr std::size_t kLongestBuildId = 64;  // bytes; sha1 has 20, "--build-id=0x..." as many as one likes

std::uint64_t padding(std::uint64_t size, std::uint64_t alignment) {
  return (alignment - size % alignment) % alignment;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte each : bytes)
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned>(each));
  return out;
}

// Notes: name size, description size, type, name, description, the last two padded.
std::string build_id_in(std::span<const std::byte> notes, std::uint64_t alignment) {
  // gABI says 8 for 64-bit files, everybody writes 4, and .note.gnu.property really has 8.
  if (alignment != 8) alignment = 4;
  Cursor in(notes);
  while (in.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto name_size = in.read<std::uint32_t>();
    const auto size = in.read<std::uint32_t>();
    const auto type = in.read<std::uint32_t>();
    const auto name = in.read_chars(name_size);
    in.skip(padding(in.offset(), alignment));
    const auto description = in.read_bytes(size);
    if (!in.ok()) return {};
    if (type == NT_GNU_BUILD_ID && name == std::string_view("GNU", 4) && size > 0 && size <= kLongestBuildId)
      return hex(description);
    in.skip(padding(in.offset(), alignment));
  }
  return {};
}

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

std::string ElfFile::build_id() const {
  for (const Segment& each : segments_) {
    if (each.type != PT_NOTE) continue;
    if (auto id = build_id_in(stored(each.offset, each.file_size), each.alignment); !id.empty()) return id;
  }
  // Separate debug files keep the segments of the binary, with offsets that are not theirs; their sections
  // are right.
  for (const Section& each : sections_) {
    if (each.type != SHT_NOTE) continue;
    if (auto id = build_id_in(stored(each.offset, each.size), each.alignment); !id.empty()) return id;
  }
  return {};
}

std::string ElfFile::identity() const {
  if (auto id = build_id(); !id.empty()) return id;
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_128bits_reset(state.get());
  const auto add = [&](std::uint64_t value) { XXH3_128bits_update(state.get(), &value, sizeof value); };
  for (const Segment& each : segments_) {
    add(each.type | std::uint64_t{each.flags} << 32);
    add(each.offset.value);
    add(each.address.value);
    add(each.file_size);
    add(each.memory_size);
  }
  // The table of all functions' addresses: two builds that differ in code rarely agree here.
  if (const Segment* header = segment(PT_GNU_EH_FRAME)) {
    const auto bytes = stored(header->offset, header->file_size);
    XXH3_128bits_update(state.get(), bytes.data(), bytes.size());
  }
  add(bytes_.size());
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("x-{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace fathom::elf
