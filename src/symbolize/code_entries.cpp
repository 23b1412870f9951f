#include "symbolize/code_entries.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/cursor.h"

namespace fathom::symbolize {
namespace {

// Compilers number abbreviations from 1 on, and write some hundred to some thousand for a unit.
constexpr std::uint64_t kMostAbbreviations = 1 << 16;
constexpr std::size_t kMostAttributes = 1 << 20;  // of all of them together

struct Unit {
  std::uint64_t start = 0, end = 0;  // of the unit in .debug_info
  std::uint64_t abbreviations = 0;   // offset in .debug_abbrev
  unsigned offset_size = 4, address_size = 8, version = 5;
  Cursor entries{std::span<const std::byte>()};
};

// How one or more attributes are passed by.
struct Step {
  enum class Kind : std::uint8_t {
    kFixed,
    kLeb,
    kString,
    kBlock1,
    kBlock2,
    kBlock4,
    kBlock,
    kSibling,
    kSiblingLeb
  };
  Kind kind;
  std::uint32_t bytes = 0;  // kFixed; kSibling: of the reference
};

struct Abbreviation {
  std::uint16_t tag = 0;  // 0: there is none of that number
  bool has_children = false, has_code = false;
  std::uint32_t first_step = 0, step_count = 0;
};

struct Abbreviations {
  std::vector<Abbreviation> by_code;  // [code]
  std::vector<Step> steps;
};

std::optional<Unit> read_header(std::span<const std::byte> info, std::uint64_t offset) {
  Unit unit;
  Cursor all(info);
  all.skip(offset);
  std::uint64_t length = all.read<std::uint32_t>();
  if (length == 0xffffffff) {
    unit.offset_size = 8;
    length = all.read<std::uint64_t>();
  }
  const std::uint64_t header = all.offset();
  Cursor in = all.sub(length);
  const auto read_offset = [&] {
    return unit.offset_size == 8 ? in.read<std::uint64_t>() : in.read<std::uint32_t>();
  };
  unit.version = in.read<std::uint16_t>();
  if (unit.version == 5) {
    if (in.read<std::uint8_t>() != DW_UT_compile) return std::nullopt;
    unit.address_size = in.read<std::uint8_t>();
    unit.abbreviations = read_offset();
  } else {
    unit.abbreviations = read_offset();
    unit.address_size = in.read<std::uint8_t>();
  }
  if (!in.ok() || unit.version < 2 || unit.version > 5 || (unit.address_size != 4 && unit.address_size != 8))
    return std::nullopt;
  unit.start = offset;
  unit.end = header + length;
  unit.entries = in;
  return unit;
}

std::optional<Step> step_of(std::uint64_t form, const Unit& unit) {
  using Kind = Step::Kind;
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return Step{Kind::kFixed, 0};
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return Step{Kind::kFixed, 1};
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return Step{Kind::kFixed, 2};
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return Step{Kind::kFixed, 3};
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
      return Step{Kind::kFixed, 4};
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return Step{Kind::kFixed, 8};
    case DW_FORM_data16:
      return Step{Kind::kFixed, 16};
    case DW_FORM_addr:
      return Step{Kind::kFixed, unit.address_size};
    case DW_FORM_ref_addr:
      return Step{Kind::kFixed, unit.version == 2 ? unit.address_size : unit.offset_size};
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return Step{Kind::kFixed, unit.offset_size};
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
      return Step{Kind::kLeb};
    case DW_FORM_string:
      return Step{Kind::kString};
    case DW_FORM_block1:
      return Step{Kind::kBlock1};
    case DW_FORM_block2:
      return Step{Kind::kBlock2};
    case DW_FORM_block4:
      return Step{Kind::kBlock4};
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return Step{Kind::kBlock};
    default:
      return std::nullopt;  // its length is not known
  }
}

// A sibling is a reference within the unit, and is followed.
std::optional<Step> sibling_step(std::uint64_t form, const Unit& unit) {
  const auto step = step_of(form, unit);
  if (!step) return std::nullopt;
  switch (form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
      return Step{Step::Kind::kSibling, step->bytes};
    case DW_FORM_ref_udata:
      return Step{Step::Kind::kSiblingLeb};
    default:
      return step;
  }
}

bool read_abbreviation(Cursor& in, const Unit& unit, Abbreviation& abbreviation, std::vector<Step>& steps) {
  abbreviation.tag = static_cast<std::uint16_t>(std::min<std::uint64_t>(in.read_uleb128(), 0xffff));
  abbreviation.has_children = in.read<std::uint8_t>() != 0;
  abbreviation.first_step = static_cast<std::uint32_t>(steps.size());
  while (in.ok() && steps.size() < kMostAttributes) {
    const auto name = in.read_uleb128(), form = in.read_uleb128();
    if (name == 0 && form == 0) {
      abbreviation.step_count = static_cast<std::uint32_t>(steps.size()) - abbreviation.first_step;
      return in.ok() && abbreviation.tag != 0;
    }
    if (form == DW_FORM_implicit_const) in.read_sleb128();
    abbreviation.has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
    const auto step = name == DW_AT_sibling ? sibling_step(form, unit) : step_of(form, unit);
    if (!step) return false;
    // What has a known length is passed by at once.
    if (step->kind == Step::Kind::kFixed && steps.size() > abbreviation.first_step &&
        steps.back().kind == Step::Kind::kFixed)
      steps.back().bytes += step->bytes;
    else
      steps.push_back(*step);
  }
  return false;
}

std::optional<Abbreviations> read_abbreviations(std::span<const std::byte> section, const Unit& unit) {
  Abbreviations result;
  Cursor in(section);
  in.skip(unit.abbreviations);
  while (in.ok()) {
    const auto code = in.read_uleb128();
    if (code == 0) break;
    if (code > kMostAbbreviations) return std::nullopt;
    if (code >= result.by_code.size()) result.by_code.resize(code + 1);
    if (result.by_code[code].tag != 0) return std::nullopt;  // two of one number
    if (!read_abbreviation(in, unit, result.by_code[code], result.steps)) return std::nullopt;
  }
  return in.ok() ? std::optional(std::move(result)) : std::nullopt;
}

// Passes the attributes of an entry by. The sibling's offset from the start of the unit, 0 if it names none.
std::uint64_t pass_attributes(Cursor& in, std::span<const Step> steps) {
  std::uint64_t sibling = 0;
  for (const Step& step : steps) {
    switch (step.kind) {
      case Step::Kind::kFixed:
        in.skip(step.bytes);
        break;
      case Step::Kind::kLeb:
        while (in.read<std::uint8_t>() & 0x80) {
        }
        break;
      case Step::Kind::kString:
        in.read_c_string();
        break;
      case Step::Kind::kBlock1:
        in.skip(in.read<std::uint8_t>());
        break;
      case Step::Kind::kBlock2:
        in.skip(in.read<std::uint16_t>());
        break;
      case Step::Kind::kBlock4:
        in.skip(in.read<std::uint32_t>());
        break;
      case Step::Kind::kBlock:
        in.skip(in.read_uleb128());
        break;
      case Step::Kind::kSibling:
        for (std::uint32_t i = 0; i < step.bytes; ++i)
          sibling |= std::uint64_t{in.read<std::uint8_t>()} << (8 * i);
        break;
      case Step::Kind::kSiblingLeb:
        sibling = in.read_uleb128();
        break;
    }
  }
  return sibling;
}

bool is_scope(std::uint16_t tag, EntryScopes scopes) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
      return true;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
      return scopes == EntryScopes::kAll;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<std::uint64_t>> code_entries(const EntrySections& sections, std::uint64_t offset,
                                                       EntryScopes scopes) {
  const auto unit = read_header(sections.info, offset);
  if (!unit) return std::nullopt;
  const auto abbreviations = read_abbreviations(sections.abbreviations, *unit);
  if (!abbreviations) return std::nullopt;

  std::vector<std::uint64_t> found;
  std::span<const std::byte> all = sections.info.first(unit->end);
  std::uint64_t at = unit->end - unit->entries.remaining();
  std::uint64_t depth = 0;    // of entries whose children are not over; the unit's own entry is one
  std::uint64_t outside = 0;  // of these, those from the first one on that is no scope
  do {
    Cursor in(all.subspan(at));
    const auto code = in.read_uleb128();
    if (!in.ok()) return std::nullopt;
    if (code == 0) {
      if (depth > 0) --depth;
      if (outside > 0) --outside;
      at += in.offset();
      continue;
    }
    if (code >= abbreviations->by_code.size() || abbreviations->by_code[code].tag == 0) return std::nullopt;
    const Abbreviation& entry = abbreviations->by_code[code];
    const auto sibling =
        pass_attributes(in, std::span(abbreviations->steps).subspan(entry.first_step, entry.step_count));
    if (!in.ok()) return std::nullopt;
    if (entry.tag == DW_TAG_subprogram && entry.has_code && outside == 0 && depth > 0) found.push_back(at);
    const std::uint64_t behind = at + in.offset();
    at = behind;
    if (!entry.has_children) continue;
    if (depth == 0 || (outside == 0 && is_scope(entry.tag, scopes))) {
      ++depth;
    } else if (sibling != 0) {
      // Only forward, or it might go round for ever.
      if (sibling > unit->end - unit->start || unit->start + sibling < behind) return std::nullopt;
      at = unit->start + sibling;
    } else {
      ++depth;
      ++outside;
    }
  } while (depth > 0 && at < unit->end);
  return found;
}

}  // namespace fathom::symbolize
