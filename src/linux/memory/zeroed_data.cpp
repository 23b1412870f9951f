#include "linux/memory/zeroed_data.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "linux/memory/mapped_file.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kDataPage = 4096;
constexpr std::size_t kMostHeader = 8192;  // 144 program headers; files have about ten

template <class T>
std::optional<T> value_at(std::span<const std::byte> bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace

std::optional<std::uint64_t> end_of_zeroed_data(std::span<const std::byte> file,
                                                const process::MapEntry& data) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 47;
  const auto head = value_at<Elf64_Ehdr>(file, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff > kMostHeader)
    return std::nullopt;
  for (std::uint64_t i = 0; i < head->e_phnum; ++i) {
    const auto segment = value_at<Elf64_Phdr>(file, head->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    const std::uint64_t offset = data.offset.value;
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0 || segment->p_offset > kMost ||
        segment->p_filesz > kMost || segment->p_memsz > kMost || offset > kMost)
      continue;
    if (offset < segment->p_offset / kDataPage * kDataPage || offset >= segment->p_offset + segment->p_filesz)
      continue;
    if (data.start.value + segment->p_offset < offset) return std::nullopt;
    const std::uint64_t end = data.start.value + segment->p_offset - offset + segment->p_memsz;
    return (end + kDataPage - 1) / kDataPage * kDataPage;
  }
  return std::nullopt;
}

bool can_be_zeroed_data(const process::MapEntry& data, const process::MapEntry& entry) {
  return data.is_file() && data.writable && !data.shared && data.end == entry.start && entry.inode == 0 &&
         entry.path.empty() && entry.writable && !entry.shared;
}

std::vector<std::uint64_t> split_zeroed_data(std::int32_t pid, std::vector<process::MapEntry>& entries) {
  std::vector<std::uint64_t> others;
  std::vector<std::pair<std::size_t, std::uint64_t>> splits;  // index, where
  std::array<std::byte, kMostHeader> head;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const process::MapEntry &data = entries[i - 1], &entry = entries[i];
    if (!can_be_zeroed_data(data, entry)) continue;
    const auto file = open_mapped_file(pid, data);
    if (!file) continue;
    const ssize_t size = ::pread(file->fd.get(), head.data(), head.size(), 0);
    if (size <= 0) continue;
    const auto end = end_of_zeroed_data(std::span(head).first(static_cast<std::size_t>(size)), data);
    if (!end || *end >= entry.end.value) continue;
    if (*end <= entry.start.value)
      others.push_back(entry.start.value);
    else
      splits.push_back({i, *end});
  }
  if (splits.empty()) return others;
  std::vector<process::MapEntry> split;
  split.reserve(entries.size() + splits.size());
  auto next = splits.begin();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    split.push_back(std::move(entries[i]));
    if (next == splits.end() || next->first != i) continue;
    process::MapEntry rest = split.back();
    split.back().end = rest.start = ProcessAddress{next->second};
    split.push_back(std::move(rest));
    ++next;
  }
  entries = std::move(split);
  return others;
}

}  // namespace fathom::sources
