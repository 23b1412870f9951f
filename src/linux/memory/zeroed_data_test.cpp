#include "linux/memory/zeroed_data.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/fd.h"
#include "linux/memory/memory_map.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
volatile char zeroed[3 * kMebibyte];  // the .bss of this program

std::vector<std::byte> file_of(const std::vector<Elf64_Phdr>& segments) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_phoff = sizeof(head);
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = static_cast<Elf64_Half>(segments.size());
  std::vector<std::byte> bytes(sizeof(head) + segments.size() * sizeof(Elf64_Phdr));
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), segments.data(), segments.size() * sizeof(Elf64_Phdr));
  return bytes;
}

Elf64_Phdr data_segment(std::uint64_t offset, std::uint64_t file_bytes, std::uint64_t memory_bytes) {
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_W;
  segment.p_offset = offset;
  segment.p_filesz = file_bytes;
  segment.p_memsz = memory_bytes;
  return segment;
}

process::MapEntry data_at(std::uint64_t start, std::uint64_t end, std::uint64_t offset) {
  process::MapEntry entry;
  entry.start = ProcessAddress{start};
  entry.end = ProcessAddress{end};
  entry.offset = FileOffset{offset};
  entry.inode = 1;
  entry.path = "/lib/libx.so";
  entry.readable = entry.writable = true;
  return entry;
}

TEST(ZeroedData, EndsWhereItsSegmentEndsInMemory) {
  const auto file = file_of({data_segment(0x2da0, 0x1300, 0x5300)});
  // The first page of it was made read-only after relocation, so its mapping is of its own.
  EXPECT_EQ(end_of_zeroed_data(file, data_at(0x7f0000003000, 0x7f0000005000, 0x3000)), 0x7f0000009000);
  EXPECT_EQ(end_of_zeroed_data(file, data_at(0x7f0000002000, 0x7f0000005000, 0x2000)), 0x7f0000009000);
}

TEST(ZeroedData, OfAnotherSegmentIsUnknown) {
  const auto file = file_of({data_segment(0x2000, 0x1000, 0x5000)});
  EXPECT_EQ(end_of_zeroed_data(file, data_at(0x7f0000003000, 0x7f0000005000, 0x8000)), std::nullopt);
  auto code = data_segment(0x2000, 0x1000, 0x5000);
  code.p_flags = PF_R | PF_X;
  EXPECT_EQ(end_of_zeroed_data(file_of({code}), data_at(0x7f0000003000, 0x7f0000005000, 0x2000)),
            std::nullopt);
}

TEST(ZeroedData, BytesOfAFileAreNotTrusted) {
  const auto good = file_of({data_segment(0x2000, 0x1000, 0x5000), data_segment(0x8000, 0x1000, 0x5000)});
  const auto entry = data_at(0x7f0000003000, 0x7f0000005000, 0x2000);
  for (std::size_t size = 0; size < good.size(); ++size)
    (void)end_of_zeroed_data(std::span(good).first(size), entry);
  EXPECT_EQ(end_of_zeroed_data(std::span(good).first(64), entry), std::nullopt);
  std::mt19937_64 random(15);
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = good;
    for (int changes = 0; changes < 4; ++changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    (void)end_of_zeroed_data(bytes, entry);
  }
  auto huge = data_segment(0x2000, 0x1000, UINT64_MAX);
  EXPECT_EQ(end_of_zeroed_data(file_of({huge}), entry), std::nullopt);
}

// The kernel puts what is mapped next right behind a library's data and joins it with that. Here the data of this program
// is mapped once more, so that there is room behind it.
TEST(ZeroedData, WhatIsMappedBehindItIsAnotherThing) {
  zeroed[0] = 1;
  const Fd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(zeroed);
  auto entries = process::read_maps(::getpid());
  ASSERT_TRUE(entries.has_value());
  const process::MapEntry* data = nullptr;
  for (const process::MapEntry& entry : *entries)
    if (entry.is_file() && entry.writable && !entry.shared && entry.start.value <= address) data = &entry;
  ASSERT_NE(data, nullptr);
  const std::uint64_t file_bytes = data->size(), offset = data->offset.value;
  const auto place = reinterpret_cast<std::uint64_t>(
      ::mmap(nullptr, 64 * kMebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(::mmap(reinterpret_cast<void*>(place), file_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_FIXED, self.get(), static_cast<off_t>(offset)),
            MAP_FAILED);
  entries = process::read_maps(::getpid());
  const auto others = split_zeroed_data(::getpid(), *entries);
  ::munmap(reinterpret_cast<void*>(place), 64 * kMebibyte);
  const process::MapEntry *bss = nullptr, *rest = nullptr;
  for (const process::MapEntry& entry : *entries) {
    if (bss != nullptr && entry.start == bss->end) rest = &entry;
    if (entry.start.value == place + file_bytes) bss = &entry;
    if (rest != nullptr) break;
  }
  ASSERT_NE(bss, nullptr);
  ASSERT_NE(rest, nullptr) << "it was not split";
  EXPECT_GE(bss->size(), 3 * kMebibyte);
  EXPECT_LT(bss->size(), 4 * kMebibyte);
  EXPECT_GT(rest->size(), 50 * kMebibyte);
  EXPECT_TRUE(std::is_sorted(entries->begin(), entries->end(),
                             [](const auto& a, const auto& b) { return a.start < b.start; }));
  EXPECT_TRUE(others.empty() || others.front() != bss->start.value);
}

TEST(ZeroedData, AFileWithoutAnyHasNoneBehindIt) {
  MemoryMapping data{.entry = data_at(0x7f0000003000, 0x7f0000005000, 0x2000)}, behind;
  behind.entry.start = ProcessAddress{0x7f0000005000};
  behind.entry.end = ProcessAddress{0x7f0040005000};
  behind.entry.readable = behind.entry.writable = true;
  const auto judged = judge_mappings({data, behind}, {});
  EXPECT_EQ(judged[1].use, MappingUse::kFileZeroed) << "where the file says nothing";
  behind.not_zeroed_data = true;
  EXPECT_EQ(judge_mappings({data, behind}, {})[1].use, MappingUse::kAnonymous);
}

}  // namespace
}  // namespace fathom::sources
