#include "binary/symbolize/code_entries.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/cursor.h"

namespace fathom::symbolize {
namespace {

// Compilers number abbreviations from 1, and write some hundred to some thousand for a unit.
constexpr std::uint64_t kMostAbbreviations = 1 << 16;
constexpr std::size_t kMostAttributes = 1 << 20;  // of all of them together
constexpr std::size_t kDeepest = 100;             // calls inlined into one another

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

bool CodeEntries::read_header(const EntrySections& sections) {
  Cursor all(sections.info);
  all.skip(start_);
  std::uint64_t length = all.read<std::uint32_t>();
  if (length == 0xffffffff) {
    offset_size_ = 8;
    length = all.read<std::uint64_t>();
  }
  const std::uint64_t header = all.offset();
  Cursor in = all.sub(length);
  const auto read_offset = [&] {
    return offset_size_ == 8 ? in.read<std::uint64_t>() : in.read<std::uint32_t>();
  };
  version_ = in.read<std::uint16_t>();
  if (version_ == 5) {
    if (in.read<std::uint8_t>() != DW_UT_compile) return false;
    address_size_ = in.read<std::uint8_t>();
    abbreviations_at_ = read_offset();
  } else {
    abbreviations_at_ = read_offset();
    address_size_ = in.read<std::uint8_t>();
  }
  if (!in.ok() || version_ < 2 || version_ > 5 || (address_size_ != 4 && address_size_ != 8)) return false;
  info_ = sections.info.first(header + length);
  first_entry_ = header + in.offset();
  return true;
}

std::optional<CodeEntries::Step> CodeEntries::step_of(std::uint64_t form) const {
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
      return Step{Kind::kFixed, address_size_};
    case DW_FORM_ref_addr:
      return Step{Kind::kFixed, version_ == 2 ? address_size_ : offset_size_};
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return Step{Kind::kFixed, offset_size_};
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
std::optional<CodeEntries::Step> CodeEntries::sibling_step(std::uint64_t form) const {
  const auto step = step_of(form);
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

bool CodeEntries::read_abbreviation(Cursor& in, Abbreviation& abbreviation) {
  abbreviation.tag = static_cast<std::uint16_t>(std::min<std::uint64_t>(in.read_uleb128(), 0xffff));
  abbreviation.has_children = in.read<std::uint8_t>() != 0;
  abbreviation.first_step = static_cast<std::uint32_t>(steps_.size());
  while (in.ok() && steps_.size() < kMostAttributes) {
    const auto name = in.read_uleb128(), form = in.read_uleb128();
    if (name == 0 && form == 0) {
      abbreviation.step_count = static_cast<std::uint32_t>(steps_.size()) - abbreviation.first_step;
      return in.ok() && abbreviation.tag != 0;
    }
    if (form == DW_FORM_implicit_const) in.read_sleb128();
    abbreviation.has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
    const auto step = name == DW_AT_sibling ? sibling_step(form) : step_of(form);
    if (!step) return false;
    // What has a known length is passed by at once.
    if (step->kind == Step::Kind::kFixed && steps_.size() > abbreviation.first_step &&
        steps_.back().kind == Step::Kind::kFixed)
      steps_.back().bytes += step->bytes;
    else
      steps_.push_back(*step);
  }
  return false;
}

bool CodeEntries::read_abbreviations(std::span<const std::byte> section) {
  Cursor in(section);
  in.skip(abbreviations_at_);
  while (in.ok()) {
    const auto code = in.read_uleb128();
    if (code == 0) break;
    if (code > kMostAbbreviations) return false;
    if (code >= by_code_.size()) by_code_.resize(code + 1);
    if (by_code_[code].tag != 0) return false;  // two of one number
    if (!read_abbreviation(in, by_code_[code])) return false;
  }
  return in.ok();
}

// Passes the attributes of an entry by. The sibling's offset from the start of the unit, 0 if it names none.
std::uint64_t CodeEntries::pass_attributes(Cursor& in, const Abbreviation& entry) const {
  std::uint64_t sibling = 0;
  for (const Step& step : std::span(steps_).subspan(entry.first_step, entry.step_count)) {
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

// Below the entry `root`: enter(offset, entry) decides for each whether its own children are met as well; behind the last of them
// leave() is called. false: not understood.
template <class Enter, class Leave>
bool CodeEntries::walk(std::uint64_t root, Enter enter, Leave leave) const {
  std::uint64_t at = root;
  std::uint64_t depth = 0;    // of entries whose children are not over; `root` is one
  std::uint64_t outside = 0;  // of these, those from the first one on whose children are not met
  do {
    Cursor in(info_.subspan(at));
    const auto code = in.read_uleb128();
    if (!in.ok()) return false;
    if (code == 0) {
      if (depth > 0) --depth;
      if (outside > 0)
        --outside;
      else if (depth > 0)
        leave();
      at += in.offset();
      continue;
    }
    if (code >= by_code_.size() || by_code_[code].tag == 0) return false;
    const Abbreviation& entry = by_code_[code];
    const auto sibling = pass_attributes(in, entry);
    if (!in.ok()) return false;
    const std::uint64_t behind = at + in.offset();
    const bool into = depth == 0 || (outside == 0 && enter(at, entry));
    at = behind;
    if (!entry.has_children) {
      if (into && depth > 0) leave();
    } else if (into) {
      ++depth;
    } else if (sibling != 0) {
      // Only forward, or it might go round for ever.
      if (sibling > info_.size() - start_ || start_ + sibling < behind) return false;
      at = start_ + sibling;
    } else {
      ++depth;
      ++outside;
    }
  } while (depth > 0 && at < info_.size());
  return true;
}

std::optional<CodeEntries> CodeEntries::open(const EntrySections& sections, std::uint64_t unit) {
  CodeEntries entries;
  entries.start_ = unit;
  if (!entries.read_header(sections) || !entries.read_abbreviations(sections.abbreviations))
    return std::nullopt;
  return entries;
}

std::optional<std::vector<std::uint64_t>> CodeEntries::functions(EntryScopes scopes) const {
  std::vector<std::uint64_t> found;
  const auto enter = [&](std::uint64_t at, const Abbreviation& entry) {
    if (entry.tag == DW_TAG_subprogram && entry.has_code) found.push_back(at);
    return is_scope(entry.tag, scopes);
  };
  return walk(first_entry_, enter, [] {}) ? std::optional(std::move(found)) : std::nullopt;
}

std::optional<std::vector<InlinedEntry>> CodeEntries::inlined(std::uint64_t function,
                                                              std::size_t limit) const {
  if (function < first_entry_ || function >= info_.size()) return std::nullopt;
  std::vector<InlinedEntry> found;
  constexpr std::size_t kBlock = ~std::size_t{0};
  std::vector<std::size_t> inside;  // numbers of the calls, and blocks, that are not over
  const auto enter = [&](std::uint64_t at, const Abbreviation& entry) {
    if (inside.size() >= kDeepest) return false;
    switch (entry.tag) {
      case DW_TAG_inlined_subroutine:
        if (found.size() >= limit) return false;
        inside.push_back(found.size());
        found.push_back({at, 0});
        return true;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        inside.push_back(kBlock);
        return true;
      default:
        return false;
    }
  };
  const auto leave = [&] {
    if (inside.back() != kBlock) found[inside.back()].after = static_cast<std::uint32_t>(found.size());
    inside.pop_back();
  };
  if (!walk(function, enter, leave)) return std::nullopt;
  // A unit that ends in the middle of its entries.
  while (!inside.empty()) leave();
  return found;
}

std::size_t CodeEntries::memory_bytes() const {
  return by_code_.capacity() * sizeof(Abbreviation) + steps_.capacity() * sizeof(Step);
}

}  // namespace fathom::symbolize
