// For tests only: a copy of a program or library on disk with its allocation functions patched as planned,
// so that running it proves the plans. The trampolines are in a segment of their own at the end, which
// replaces a program header that is not needed.
//
// That segment: a magic number, the number of functions, a counter for each, then stubs and trampolines. A
// stub counts and continues in the trampoline; or it stops the program, to check that it is reached at all.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "attach/allocators/find.h"
#include "base/arch/common/entry_plan.h"
#include "binary/elf/module_file.h"

namespace fathom::arch::testing {

enum class StubKind : std::uint8_t { kCounts, kStops };

struct Refused {
  std::string name, why;
};
struct PatchedCopy {
  std::vector<allocators::Function> functions;  // patched, in the order of the counters
  std::vector<EntryPlan> plans;                 // of each
  std::vector<Refused> refused;
};

constexpr std::uint64_t kMagic = 0x7065747261706863;

class PatchedCopyWriter {
 public:
  PatchedCopyWriter(const elf::ElfFile& file, std::vector<allocators::Function> functions, StubKind kind)
      : file_(file),
        wanted_(std::move(functions)),
        kind_(kind),
        bytes_(file.bytes().begin(), file.bytes().end()) {
    for (const elf::Segment& segment : file.segments())
      if (segment.type == PT_LOAD) start_ = std::max(start_, segment.address.value + segment.memory_size);
    start_ = (start_ + 0xfff) / 0x1000 * 0x1000;
    segment_.resize(trampoline(wanted_.size()) - start_);
    put(0, kMagic);
  }

  // Writes the copy, executable.
  PatchedCopy write(const std::string& path) {
    for (const allocators::Function& each : wanted_) patch(each);
    put(8, copy_.functions.size());
    add_segment();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
    out.close();
    EXPECT_TRUE(out) << path;
    return std::move(copy_);
  }

 private:
  std::uint64_t counter(std::size_t i) const { return start_ + 16 + i * 8; }
  std::uint64_t stub(std::size_t i) const { return (counter(wanted_.size()) + 15) / 16 * 16 + i * kStubRoom; }
  std::uint64_t trampoline(std::size_t i) const { return stub(wanted_.size()) + i * kTrampolineRoom; }
  template <class T>
  void put(std::uint64_t offset, T value) {
    std::memcpy(segment_.data() + offset, &value, sizeof value);
  }

  void patch(const allocators::Function& function) {
    const std::size_t i = copy_.functions.size();
    const auto plan = plan_entry(allocators::code_of(file_, function), {function.address.value},
                                 {trampoline(i)}, {stub(i)});
    if (!plan) {
      copy_.refused.push_back({function.name, plan.error().message});
      return;
    }
    const auto offset = file_.offset_of({plan->patch_address.value});
    ASSERT_TRUE(offset);
    ASSERT_EQ(std::memcmp(bytes_.data() + offset->value, plan->before.data(), plan->before.size()), 0);
    std::memcpy(bytes_.data() + offset->value, plan->after.data(), plan->after.size());
    std::memcpy(segment_.data() + (trampoline(i) - start_), plan->trampoline.data(), plan->trampoline.size());
    write_stub(i);
    copy_.functions.push_back(function);
    copy_.plans.push_back(*plan);
  }
  void write_stub(std::size_t i) {
    const std::uint64_t at = stub(i) - start_;
    if (kind_ == StubKind::kStops) {
      put(at, std::uint16_t{0x0b0f});  // ud2
      return;
    }
    // lock incq counter(%rip); jmp trampoline
    constexpr std::uint8_t kIncrement[] = {0xf0, 0x48, 0xff, 0x05};
    std::memcpy(segment_.data() + at, kIncrement, sizeof kIncrement);
    put(at + 4, static_cast<std::int32_t>(counter(i) - (stub(i) + 8)));
    put(at + 8, std::uint8_t{0xe9});
    put(at + 9, static_cast<std::int32_t>(trampoline(i) - (stub(i) + 13)));
  }

  void add_segment() {
    bytes_.resize((bytes_.size() + 0xfff) / 0x1000 * 0x1000);
    const std::uint64_t offset = bytes_.size();
    bytes_.insert(bytes_.end(), segment_.begin(), segment_.end());
    Elf64_Ehdr header;
    std::memcpy(&header, bytes_.data(), sizeof header);
    // Loaders want the segments in the order of their addresses: one behind the last of them.
    std::uint64_t replaced = 0;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr each;
      std::memcpy(&each, bytes_.data() + header.e_phoff + i * sizeof each, sizeof each);
      if (each.p_type == PT_LOAD) replaced = 0;
      if (each.p_type == PT_NOTE || (each.p_type == PT_GNU_STACK && replaced == 0)) replaced = i;
    }
    ASSERT_NE(replaced, 0U) << "no program header to spare";
    const Elf64_Phdr added{PT_LOAD, PF_R | PF_W | PF_X, offset,          start_,
                           start_,  segment_.size(),    segment_.size(), 0x1000};
    std::memcpy(bytes_.data() + header.e_phoff + replaced * sizeof added, &added, sizeof added);
  }

  const elf::ElfFile& file_;
  std::vector<allocators::Function> wanted_;
  StubKind kind_;
  std::vector<std::byte> bytes_;
  std::uint64_t start_ = 0;
  std::vector<std::byte> segment_;
  PatchedCopy copy_;
};

}  // namespace fathom::arch::testing
