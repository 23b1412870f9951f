// For tests only: .eh_frame and .debug_frame bytes made by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/abi/unwind_table.h"
#include "binary/dwarf/compile.h"
#include "binary/dwarf/frame_section.h"

namespace fathom::dwarf::testing {

using Bytes = std::vector<std::byte>;

inline Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}
template <class T>
void put(Bytes& out, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof value);
}
inline void put_all(Bytes& out, const Bytes& more) {
  out.insert(out.end(), more.begin(), more.end());
}

// CFA = rsp + 8, return address at CFA - 8: what every CIE of x86-64 says. Data alignment -8 assumed.
inline Bytes usual_start() {
  return bytes({0x0c, 7, 8, 0x90, 1});
}

struct CieSpec {
  std::string_view augmentation = "zR";
  Bytes augmentation_data = bytes({0x1b});  // pc-relative, 4 bytes signed
  Bytes program = usual_start();
  int version = 1;
  int code_alignment = 1;
  int data_alignment = 0x78;  // -8
  int return_register = 16;
};

class SectionBuilder {
 public:
  explicit SectionBuilder(FrameKind kind = FrameKind::kEhFrame, std::uint64_t address = 0x100000)
      : kind_(kind), address_(address) {}

  // The offset, for fde().
  std::uint64_t cie(const CieSpec& spec = {}) {
    Bytes body;
    put(body, kind_ == FrameKind::kEhFrame ? 0u : 0xffffffffu);
    put(body, static_cast<std::uint8_t>(spec.version));
    for (const char letter : spec.augmentation) put(body, letter);
    put(body, char{0});
    if (spec.version == 4) put_all(body, bytes({8, 0}));
    put_all(body, bytes({spec.code_alignment, spec.data_alignment, spec.return_register}));
    if (!spec.augmentation.empty() && spec.augmentation.front() == 'z') {
      put(body, static_cast<std::uint8_t>(spec.augmentation_data.size()));
      put_all(body, spec.augmentation_data);
    }
    put_all(body, spec.program);
    return record(body);
  }

  // Of a CIE with the default encoding: pc-relative in .eh_frame, absolute in .debug_frame.
  std::uint64_t fde(std::uint64_t cie, std::uint64_t start, std::uint64_t size, const Bytes& program) {
    Bytes body;
    if (kind_ == FrameKind::kEhFrame) {
      const std::uint64_t id_offset = section_.size() + 4;
      put(body, static_cast<std::uint32_t>(id_offset - cie));
      put(body, static_cast<std::uint32_t>(start - (address_ + id_offset + 4)));
      put(body, static_cast<std::uint32_t>(size));
      put(body, std::uint8_t{0});  // augmentation data
    } else {
      put(body, static_cast<std::uint32_t>(cie));
      put(body, start);
      put(body, size);
    }
    put_all(body, program);
    return record(body);
  }

  std::uint64_t record(const Bytes& body) {
    const std::uint64_t offset = section_.size();
    put(section_, static_cast<std::uint32_t>(body.size()));
    put_all(section_, body);
    return offset;
  }
  Bytes& raw() { return section_; }

  // Points into this builder.
  FrameSection section() const {
    return {section_, {kind_ == FrameKind::kEhFrame ? address_ : 0}, kind_, {}, false};
  }

 private:
  FrameKind kind_;
  std::uint64_t address_;
  Bytes section_;
};

struct Row {
  std::uint32_t offset;
  unwind_rule rule;
};

// The rows of the first function with this program, under a usual CIE.
inline std::vector<Row> rows_of(const Bytes& program, std::uint64_t size = 0x1000, const CieSpec& spec = {}) {
  SectionBuilder builder;
  builder.fde(builder.cie(spec), 0x1000, size, program);
  RuleSet rules;
  CfiFunctions out;
  compile(builder.section(), rules, out);
  std::vector<Row> rows;
  for (const CfiRow& row : out.rows) rows.push_back({row.offset, rules.rules()[row.rule]});
  return rows;
}

}  // namespace fathom::dwarf::testing

inline bool operator==(const unwind_rule& a, const unwind_rule& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}
namespace fathom::dwarf::testing {
inline bool operator==(const Row& a, const Row& b) {
  return a.offset == b.offset && a.rule == b.rule;
}

inline unwind_rule rule(unwind_cfa cfa, int cfa_offset = 0, unwind_fp fp = FP_SAME, int fp_offset = 0,
                        int reg = 0, int add = 0) {
  return {cfa_offset,           fp_offset, static_cast<u8>(cfa), static_cast<u8>(fp), static_cast<u8>(reg),
          static_cast<s8>(add), 0};
}
}  // namespace fathom::dwarf::testing
