// The table against libdw: at random addresses of real binaries both are asked where the caller's rip, rsp
// and rbp are. Answers are compared by what they compute, not by how they are written: both are evaluated
// over the same made-up registers and the same made-up memory (a hash of the address), so equal results mean
// equal rules.
//
// FATHOM_UNWIND_BINARIES=path:path adds binaries to the list.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>

#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "binary/unwind/frame_sections.h"
#include "binary/unwind/table.h"

namespace fathom::unwind {
namespace {

constexpr int kAddresses = 10'000;
constexpr unsigned kRbp = 6, kRsp = 7, kRip = 16;

std::uint64_t memory(std::uint64_t address) {
  std::uint64_t x = address + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  return (x ^ x >> 27) * 0x94d049bb133111eb;
}

struct Registers {
  std::array<std::uint64_t, 32> values;
};

struct Caller {
  enum class Outcome { kFrame, kEnd, kUnknown };
  Outcome outcome = Outcome::kUnknown;
  std::uint64_t pc = 0, sp = 0;
  std::optional<std::uint64_t> fp;  // nullopt: unspecified
};

// ---- What the table says.

Caller by_rule(const unwind_rule& rule, const Registers& r) {
  Caller caller;
  const std::uint64_t rsp = r.values[kRsp];
  const std::uint64_t rbp = r.values[kRbp];
  const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
  std::uint64_t cfa = 0;
  switch (rule.cfa) {
    case CFA_SP:
      cfa = rsp + offset;
      break;
    case CFA_FP:
      cfa = rbp + offset;
      break;
    case CFA_PLT:
      cfa = rsp + offset + ((r.values[kRip] & 15) >= rule.reg ? 8 : 0);
      break;
    case CFA_DEREF_SP:
      cfa = memory(rsp + offset) + static_cast<std::uint64_t>(std::int64_t{rule.add});
      break;
    case CFA_DEREF_FP:
      cfa = memory(rbp + offset) + static_cast<std::uint64_t>(std::int64_t{rule.add});
      break;
    case CFA_REGISTER:
      cfa = r.values[rule.reg] + offset;
      break;
    case CFA_SIGNAL:
      return {Caller::Outcome::kFrame, memory(rsp + 168), memory(rsp + 160), memory(rsp + 120)};
    case CFA_END:
      return {Caller::Outcome::kEnd, 0, 0, {}};
    default:
      return {};
  }
  caller.outcome = Caller::Outcome::kFrame;
  caller.sp = cfa;
  caller.pc = memory(cfa - 8);
  const auto fp_offset = static_cast<std::uint64_t>(std::int64_t{rule.fp_offset});
  if (rule.fp == FP_SAME) caller.fp = rbp;
  if (rule.fp == FP_AT_CFA) caller.fp = memory(cfa + fp_offset);
  if (rule.fp == FP_AT_FP) caller.fp = memory(rbp + fp_offset);
  return caller;
}

// ---- What libdw says: location descriptions, evaluated.

struct Place {
  enum class Kind { kMemory, kValue, kBroken };
  Kind kind;
  std::uint64_t value;
  std::uint64_t load() const { return kind == Kind::kMemory ? memory(value) : value; }
};

Place evaluate(const Dwarf_Op* ops, std::size_t count, const Registers& r, std::optional<std::uint64_t> cfa) {
  std::vector<std::uint64_t> stack;
  const auto pop = [&] {
    if (stack.empty()) return std::uint64_t{0};
    const std::uint64_t top = stack.back();
    stack.pop_back();
    return top;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Dwarf_Op& op = ops[i];
    if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
      stack.push_back(r.values[op.atom - DW_OP_breg0] + op.number);
    } else if (op.atom == DW_OP_bregx && op.number < r.values.size()) {
      stack.push_back(r.values[op.number] + op.number2);
    } else if (op.atom == DW_OP_regx && op.number < r.values.size()) {
      return {Place::Kind::kValue, r.values[op.number]};
    } else if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) {
      return {Place::Kind::kValue, r.values[op.atom - DW_OP_reg0]};
    } else if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) {
      stack.push_back(op.atom - DW_OP_lit0);
    } else if (op.atom == DW_OP_call_frame_cfa && cfa) {
      stack.push_back(*cfa);
    } else if (op.atom == DW_OP_plus_uconst) {
      stack.push_back(pop() + op.number);
    } else if (op.atom == DW_OP_deref) {
      stack.push_back(memory(pop()));
    } else if (op.atom == DW_OP_stack_value) {
      return {Place::Kind::kValue, pop()};
    } else if (op.atom == DW_OP_plus || op.atom == DW_OP_and || op.atom == DW_OP_ge || op.atom == DW_OP_shl) {
      const std::uint64_t b = pop();
      const std::uint64_t a = pop();
      if (op.atom == DW_OP_plus) stack.push_back(a + b);
      if (op.atom == DW_OP_and) stack.push_back(a & b);
      if (op.atom == DW_OP_ge)
        stack.push_back(static_cast<std::int64_t>(a) >= static_cast<std::int64_t>(b) ? 1 : 0);
      if (op.atom == DW_OP_shl) stack.push_back(a << (b & 63));
    } else {
      return {Place::Kind::kBroken, 0};
    }
  }
  return stack.empty() ? Place{Place::Kind::kBroken, 0} : Place{Place::Kind::kMemory, stack.back()};
}

// The caller's value of a register. `undefined` is set if it has none.
std::optional<std::uint64_t> register_value(Dwarf_Frame* frame, unsigned number, const Registers& r,
                                            std::uint64_t cfa, bool& undefined) {
  Dwarf_Op memory_for_ops[3];
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(number), memory_for_ops, &ops, &count) != 0)
    return std::nullopt;
  if (count == 0) {
    undefined = ops != nullptr;
    if (undefined) return std::nullopt;
    return r.values[number];
  }
  const Place place = evaluate(ops, count, r, cfa);
  return place.kind == Place::Kind::kBroken ? std::nullopt : std::optional(place.load());
}

Caller by_libdw(Dwarf_Frame* frame, const Registers& r) {
  bool undefined = false;
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return {};
  const Place cfa = evaluate(ops, count, r, std::nullopt);
  const auto pc = register_value(frame, kRip, r, cfa.value, undefined);
  if (undefined) return {Caller::Outcome::kEnd, 0, 0, {}};
  if (cfa.kind == Place::Kind::kBroken || !pc) return {};
  // rsp of the caller is the CFA, unless specified otherwise (signal frames: the same value, once more).
  return {Caller::Outcome::kFrame, *pc, cfa.value, register_value(frame, kRbp, r, cfa.value, undefined)};
}

class LibdwFile {
 public:
  explicit LibdwFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_.get(), ELF_C_READ_MMAP, nullptr);
    if (elf_ != nullptr) cfi_ = dwarf_getcfi_elf(elf_);
  }
  LibdwFile(const LibdwFile&) = delete;
  LibdwFile& operator=(const LibdwFile&) = delete;
  ~LibdwFile() {
    if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
    if (elf_ != nullptr) elf_end(elf_);
  }
  bool ok() const { return cfi_ != nullptr; }
  // Null: no call frame information for the address.
  std::unique_ptr<Dwarf_Frame, decltype(&std::free)> frame(std::uint64_t address) const {
    Dwarf_Frame* found = nullptr;
    if (dwarf_cfi_addrframe(cfi_, address, &found) != 0) found = nullptr;
    return {found, &std::free};
  }

 private:
  Fd fd_;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
};

bool in_padding(const std::vector<std::pair<ElfAddress, std::uint64_t>>& bounds, std::uint64_t address) {
  const auto next = std::upper_bound(bounds.begin(), bounds.end(), address,
                                     [](std::uint64_t a, const auto& each) { return a < each.first.value; });
  if (next == bounds.begin() || next == bounds.end()) return false;
  const auto& before = *std::prev(next);
  const std::uint64_t end = before.first.value + before.second;
  return address >= end && next->first.value - end <= 32;
}

struct Counts {
  int compared = 0, differences = 0, neither = 0, padding = 0, inexpressible = 0, missing = 0, extra = 0;
};

void compare_with_libdw(const std::string& path) {
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const auto file = elf::ModuleFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  const LibdwFile libdw(path);
  ASSERT_TRUE(libdw.ok()) << path << ": libdw finds no call frame information";
  const auto table = build_table(file->elf(), {.synthesize = false}).value();
  const auto bounds = function_bounds(file->elf());
  const auto ranges = code_ranges(file->elf());
  std::uint64_t total = 0;
  for (const CodeRange& range : ranges) total += range.end - range.start;

  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Counts counts;
  for (int i = 0; i < kAddresses; ++i) {
    std::uint64_t offset = random() % total;
    std::uint64_t address = 0;
    for (const CodeRange& range : ranges) {
      address = range.start + offset;
      if (address < range.end) break;
      offset -= range.end - range.start;
    }
    Registers registers;
    for (std::uint64_t& each : registers.values) each = random();
    registers.values[kRip] = address;

    const auto rule = find_rule(table, {address});
    const auto frame = libdw.frame(address);
    if (!frame) {
      ++(!rule ? counts.neither : in_padding(bounds, address) ? counts.padding : counts.extra);
      continue;
    }
    if (!rule) {
      ++counts.missing;
      ADD_FAILURE() << path << ": no rule at 0x" << std::hex << address;
      continue;
    }
    const Caller ours = by_rule(*rule, registers);
    const Caller theirs = by_libdw(frame.get(), registers);
    if (ours.outcome == Caller::Outcome::kUnknown) {
      ++counts.inexpressible;
      continue;
    }
    ++counts.compared;
    // FP_UNDEFINED is also what stands for places that a rule cannot express.
    const bool same = ours.outcome == theirs.outcome && ours.pc == theirs.pc && ours.sp == theirs.sp &&
                      (!ours.fp || ours.fp == theirs.fp);
    if (!same) {
      ++counts.differences;
      ADD_FAILURE() << path << ": 0x" << std::hex << address << " cfa kind " << int{rule->cfa} << " rbp kind "
                    << int{rule->fp};
    }
  }
  std::cout << path << ": " << counts.compared << " compared, " << counts.differences << " differences, "
            << counts.neither << " without information in both, " << counts.padding << " padding, "
            << counts.inexpressible << " not expressible, " << counts.extra << " extra; " << table.fdes
            << " functions, " << table.rows.size() << " rows, " << table.rules.size() << " rules\n";
  EXPECT_EQ(counts.extra, 0) << "rules where libdw has none and which are no padding";
  EXPECT_LT(counts.inexpressible, kAddresses / 100);
  EXPECT_GT(counts.compared, kAddresses / 4);  // libLLVM keeps its constants in the executable segment
}

class LibdwDifferential : public ::testing::TestWithParam<const char*> {};

TEST_P(LibdwDifferential, SameCallerAtRandomAddresses) {
  compare_with_libdw(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Debian, LibdwDifferential,
                         ::testing::Values("/lib/x86_64-linux-gnu/libc.so.6",
                                           "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                                           "/usr/bin/redis-check-rdb",
                                           "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                           "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
                                           "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"));

TEST(LibdwDifferential, SameCallerInBinariesNamedByTheUser) {
  const char* list = std::getenv("FATHOM_UNWIND_BINARIES");
  if (list == nullptr) GTEST_SKIP() << "FATHOM_UNWIND_BINARIES is not set";
  std::istringstream paths(list);
  for (std::string path; std::getline(paths, path, ':');) compare_with_libdw(path);
}

}  // namespace
}  // namespace fathom::unwind
