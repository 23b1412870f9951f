#include "record/session/tracking/moved_text.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <cstring>

#include "binary/elf/testing_elf.h"

namespace fathom::session {
namespace {

using process::MapEntry;

constexpr std::uint64_t kBias = 0x550000000000, kCode = 0x1000, kSize = 0x5000, kPage = 0x1000;

class MovedText : public ::testing::Test {
 protected:
  MovedText() {
    for (std::size_t i = 0; i < code_.size(); ++i) code_[i] = static_cast<std::byte>(i * 31 % 251);
    elf::testing::ElfBuilder builder;
    const std::vector<std::byte> head(kPage, std::byte{1});
    builder.segment(PT_LOAD, PF_R, 0, builder.blob(head));
    builder.segment(PT_LOAD, PF_R | PF_X, kCode, builder.blob(code_));
    image_ = builder.build();
    const auto file = elf::ElfFile::parse(image_, "x").value();
    for (const elf::Segment& segment : file.segments())
      if ((segment.flags & PF_X) != 0) offset_ = segment.offset.value;
    memory_ = code_;
    access_.file_of = [this](const MapEntry&) { return elf::ModuleFile::of_memory(image_, "x"); };
    access_.read = [this](std::uint64_t address, std::span<std::byte> into) {
      const std::uint64_t at = address - kBias - kCode;
      if (at > memory_.size() || into.size() > memory_.size() - at) return false;
      std::memcpy(into.data(), memory_.data() + at, into.size());
      return true;
    };
  }

  static MapEntry of_file(std::uint64_t start, std::uint64_t end, std::uint64_t offset, bool executable) {
    MapEntry entry;
    entry.start = {kBias + start};
    entry.end = {kBias + end};
    entry.readable = true;
    entry.executable = executable;
    entry.offset = {offset};
    entry.inode = 7;
    entry.path = "/opt/app";
    return entry;
  }
  static MapEntry anonymous(std::uint64_t start, std::uint64_t end) {
    MapEntry entry = of_file(start, end, 0, true);
    entry.inode = 0;
    entry.path.clear();
    return entry;
  }
  static std::string text_of(const std::vector<MapEntry>& maps) {
    std::string text;
    for (const MapEntry& entry : maps)
      text += fmt::format("{:x}-{:x}{}{} ", entry.start.value - kBias, entry.end.value - kBias,
                          entry.executable ? "x" : "",
                          entry.is_file() ? fmt::format("@{:x}", entry.offset.value) : "");
    return text;
  }
  std::string named(std::vector<MapEntry> maps) {
    name_moved_text(maps, access_);
    return text_of(maps);
  }

  std::vector<std::byte> code_ = std::vector<std::byte>(kSize), memory_;
  elf::testing::Bytes image_;
  std::uint64_t offset_ = 0;
  MovedTextAccess access_;
};

TEST_F(MovedText, IsNamedAfterTheFileWhoseCodeItHolds) {
  const MapEntry head = of_file(0, kPage, 0, false);
  EXPECT_EQ(named({head, anonymous(kCode, kCode + kSize)}),
            fmt::format("0-1000@0 1000-6000x@{:x} ", offset_ & ~0xfffULL));
  // The middle alone, on huge pages; the rest is still the file's.
  const std::uint64_t page = offset_ & ~0xfffULL;
  EXPECT_EQ(named({head, of_file(0x1000, 0x2000, page, true), anonymous(0x2000, 0x5000),
                   of_file(0x5000, 0x6000, page + 0x4000, true)}),
            fmt::format("0-1000@0 1000-2000x@{:x} 2000-5000x@{:x} 5000-6000x@{:x} ", page, page + 0x1000,
                        page + 0x4000));
  MapEntry hugepages = anonymous(kCode, kCode + kSize);
  hugepages.inode = 9;
  hugepages.path = "/anon_hugepage";
  EXPECT_EQ(named({head, hugepages}), fmt::format("0-1000@0 1000-6000x@{:x} ", page));
}

TEST_F(MovedText, WhatReachesFurtherIsSplit) {
  EXPECT_EQ(named({of_file(0, kPage, 0, false), anonymous(kCode, kCode + kSize + 0x2000)}),
            fmt::format("0-1000@0 1000-6000x@{:x} 6000-8000x ", offset_ & ~0xfffULL));
}

// A page may be kept back for ever, and no time limit between two reads helps against that.
TEST_F(MovedText, MemoryThatDoesNotAnswerIsGivenUp) {
  std::vector<MapEntry> maps{of_file(0, kPage, 0, false), anonymous(kCode, kCode + kSize)};
  const std::string before = text_of(maps);
  const auto answers = std::make_shared<std::atomic<bool>>(false);
  MovedTextAccess slow = access_;
  slow.file_of = [image = image_](const MapEntry&) { return elf::ModuleFile::of_memory(image, "x"); };
  slow.read = [answers](std::uint64_t, std::span<std::byte>) {
    while (!*answers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return false;
  };
  EXPECT_FALSE(name_moved_text_within(maps, slow, 20'000'000));
  EXPECT_EQ(text_of(maps), before);
  *answers = true;
  EXPECT_TRUE(name_moved_text_within(maps, access_, 10'000'000'000));
  EXPECT_NE(text_of(maps), before) << "one that answers is named";
}

// Both are as many as the target likes.
TEST_F(MovedText, OfVeryManyFilesOnlyTheFirstAreOpened) {
  std::vector<MapEntry> maps;
  for (std::uint64_t i = 0; i < 30'000; ++i) {
    maps.push_back(of_file(i * 2 * kPage, i * 2 * kPage + kPage, 0, false));
    maps.back().inode = i + 1;
    maps.push_back(anonymous(i * 2 * kPage + kPage, (i + 1) * 2 * kPage));
  }
  int opened = 0;
  access_.file_of = [&opened](const MapEntry&) -> Result<elf::ModuleFile> {
    ++opened;
    return fail(ErrorKind::kNotFound, "none", "");
  };
  const std::string before = text_of(maps);
  EXPECT_EQ(named(maps), before);
  EXPECT_LE(opened, 64);
}

TEST_F(MovedText, CodeThatIsAnothersIsLeftAlone) {
  const std::vector<MapEntry> maps = {of_file(0, kPage, 0, false), anonymous(kCode, kCode + kSize)};
  memory_[kSize - 1] ^= std::byte{1};
  EXPECT_EQ(named(maps), text_of(maps)) << "it differs from the file";
  memory_ = code_;
  const std::vector<MapEntry> apart = {of_file(0, kPage, 0, false), anonymous(0x10000, 0x12000)};
  EXPECT_EQ(named(apart), text_of(apart)) << "no code of the file is there";
  access_.read = [](std::uint64_t, std::span<std::byte>) { return false; };
  EXPECT_EQ(named(maps), text_of(maps)) << "nobody may look";
  access_.file_of = [](const MapEntry&) -> Result<elf::ModuleFile> {
    return fail(ErrorKind::kNotFound, "x");
  };
  EXPECT_EQ(named(maps), text_of(maps));
}

}  // namespace
}  // namespace fathom::session
