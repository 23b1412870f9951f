#include "symbolize/line_program.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>

namespace fathom::symbolize {
namespace {

// One value of an entry of the version 5 tables.
struct FormValue {
  std::string_view text;
  std::uint64_t number = 0;
};

std::string_view string_at(std::span<const std::byte> section, std::uint64_t offset) {
  Cursor in(section);
  in.skip(offset);
  return in.read_c_string();
}

FormValue read_form(Cursor& in, std::uint64_t form, bool wide, const LineSections& sections) {
  const auto offset = [&] { return wide ? in.read<std::uint64_t>() : in.read<std::uint32_t>(); };
  switch (form) {
    case DW_FORM_string:
      return {in.read_c_string(), 0};
    case DW_FORM_line_strp:
      return {string_at(sections.line_string, offset()), 0};
    case DW_FORM_strp:
      return {string_at(sections.string, offset()), 0};
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
      offset();
      return {};  // in a file shared by dwz, which keeps no names of files
    case DW_FORM_udata:
      return {{}, in.read_uleb128()};
    case DW_FORM_data1:
      return {{}, in.read<std::uint8_t>()};
    case DW_FORM_data2:
      return {{}, in.read<std::uint16_t>()};
    case DW_FORM_data4:
      return {{}, in.read<std::uint32_t>()};
    case DW_FORM_data8:
      return {{}, in.read<std::uint64_t>()};
    case DW_FORM_data16:
      in.skip(16);
      return {};
    case DW_FORM_block:
      in.skip(in.read_uleb128());
      return {};
    default:
      in.fail();
      return {};  // its length is unknown, so nothing after it can be found
  }
}

struct EntryFormat {
  std::uint64_t content, form;
};

std::vector<EntryFormat> read_entry_format(Cursor& in) {
  std::vector<EntryFormat> format(in.read<std::uint8_t>());
  for (auto& [content, form] : format) {
    content = in.read_uleb128();
    form = in.read_uleb128();
  }
  return format;
}

}  // namespace

Result<LineProgram> LineProgram::parse(const LineSections& sections, std::uint64_t offset,
                                       std::string directory, std::string name) {
  const auto broken = [&](const char* what) {
    return fail(ErrorKind::kMalformed, ".debug_line at offset " + std::to_string(offset) + ": " + what);
  };
  LineProgram result;
  result.directory_ = std::move(directory);
  result.name_ = std::move(name);
  Cursor all(sections.line);
  all.skip(offset);
  std::uint64_t length = all.read<std::uint32_t>();
  const bool wide = length == 0xffffffff;
  if (wide) length = all.read<std::uint64_t>();
  Cursor unit = all.sub(length);
  result.version_ = unit.read<std::uint16_t>();
  if (!unit.ok()) return broken("cut short");
  if (result.version_ < 2 || result.version_ > 5) return broken("unknown version");
  if (result.version_ == 5) unit.skip(2);  // sizes of addresses and of segment selectors
  Cursor header = unit.sub(wide ? unit.read<std::uint64_t>() : unit.read<std::uint32_t>());
  result.program_ = unit;
  result.instruction_length_ = header.read<std::uint8_t>();
  if (result.version_ >= 4) header.skip(1);  // operations per instruction: more than 1 on VLIW machines only
  header.skip(1);                            // default_is_stmt: every row counts
  result.line_base_ = header.read<std::int8_t>();
  result.line_range_ = header.read<std::uint8_t>();
  result.opcode_base_ = header.read<std::uint8_t>();
  if (result.line_range_ == 0) return broken("a line range of 0");
  for (unsigned opcode = 1; opcode < result.opcode_base_; ++opcode)
    result.operand_counts_.push_back(header.read<std::uint8_t>());
  const bool tables = result.version_ == 5 ? result.parse_tables_5(header, sections, wide)
                                           : result.parse_tables_2_to_4(header);
  if (!tables) return broken("the table of files is cut short");
  return result;
}

bool LineProgram::parse_tables_2_to_4(Cursor& in) {
  // Number 0 is what the unit says: its folder and its file. No view of a member is kept, as the program may
  // move.
  directories_.emplace_back();
  for (auto text = in.read_c_string(); in.ok() && !text.empty(); text = in.read_c_string())
    directories_.push_back(text);
  files_.emplace_back();
  for (auto text = in.read_c_string(); in.ok() && !text.empty(); text = in.read_c_string()) {
    const auto directory = in.read_uleb128();
    in.read_uleb128();  // time of change
    in.read_uleb128();  // size
    files_.push_back({text, directory});
  }
  return in.ok();
}

bool LineProgram::parse_tables_5(Cursor& in, const LineSections& sections, bool wide) {
  for (const bool is_files : {false, true}) {
    const auto format = read_entry_format(in);
    const auto count = in.read_uleb128();
    // An entry takes at least a byte, unless its format is empty: then there is nothing to read, however many
    // are claimed.
    if (!in.ok() || count > in.remaining() || (format.empty() && count != 0)) return false;
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
      File entry;
      for (const auto& [content, form] : format) {
        const auto value = read_form(in, form, wide, sections);
        if (content == DW_LNCT_path) entry.name = value.text;
        if (content == DW_LNCT_directory_index) entry.directory = value.number;
      }
      if (is_files)
        files_.push_back(entry);
      else
        directories_.push_back(entry.name);
    }
  }
  return in.ok();
}

std::string LineProgram::file(std::uint64_t number) const {
  if (number >= files_.size()) return {};
  File file = files_[number];
  if (version_ < 5 && number == 0) file.name = name_;
  if (file.name.empty()) return {};
  std::filesystem::path path(directory_);
  // operator/ starts anew at an absolute part.
  if (file.directory < directories_.size()) path /= directories_[file.directory];
  path /= file.name;
  return path.lexically_normal().string();
}

std::vector<std::optional<LineRow>> LineProgram::find(std::span<const std::uint64_t> addresses) const {
  std::vector<std::optional<LineRow>> found(addresses.size());
  struct State {
    std::uint64_t address = 0, file = 1;
    std::uint32_t line = 1;
  } state, before;
  bool in_sequence = false, discarded = false;
  std::size_t next = 0;  // the first address that may still lie in this sequence

  // A row holds from its address to that of the next row.
  const auto emit = [&] {
    if (!in_sequence || state.address < before.address) {
      next = static_cast<std::size_t>(std::lower_bound(addresses.begin(), addresses.end(), state.address) -
                                      addresses.begin());
      // The linker has left out this function and made its address 0.
      if (!in_sequence) discarded = state.address == 0;
      in_sequence = true;
    } else {
      for (; next < addresses.size() && addresses[next] < state.address; ++next)
        if (!discarded && !found[next]) found[next] = LineRow{before.file, before.line};
    }
    before = state;
  };
  const auto add_line = [&](std::int64_t difference) {
    state.line = static_cast<std::uint32_t>(state.line + static_cast<std::uint64_t>(difference));
  };

  Cursor in = program_;
  while (in.remaining() != 0) {
    const auto opcode = in.read<std::uint8_t>();
    if (opcode >= opcode_base_) {
      const unsigned adjusted = opcode - opcode_base_;
      state.address += adjusted / line_range_ * instruction_length_;
      add_line(line_base_ + static_cast<int>(adjusted % line_range_));
      emit();
      continue;
    }
    switch (opcode) {
      case 0: {
        Cursor extended = in.sub(in.read_uleb128());
        switch (extended.read<std::uint8_t>()) {
          case DW_LNE_end_sequence:
            emit();
            state = State{};
            in_sequence = false;
            break;
          case DW_LNE_set_address:
            state.address =
                extended.remaining() == 4 ? extended.read<std::uint32_t>() : extended.read<std::uint64_t>();
            break;
          default:
            break;
        }
        break;
      }
      case DW_LNS_copy:
        emit();
        break;
      case DW_LNS_advance_pc:
        state.address += in.read_uleb128() * instruction_length_;
        break;
      case DW_LNS_advance_line:
        add_line(in.read_sleb128());
        break;
      case DW_LNS_set_file:
        state.file = in.read_uleb128();
        break;
      case DW_LNS_const_add_pc:
        state.address += (255u - opcode_base_) / line_range_ * instruction_length_;
        break;
      case DW_LNS_fixed_advance_pc:
        state.address += in.read<std::uint16_t>();
        break;
      case DW_LNS_set_column:
      case DW_LNS_negate_stmt:
      case DW_LNS_set_basic_block:
      case DW_LNS_set_prologue_end:
      case DW_LNS_set_epilogue_begin:
      case DW_LNS_set_isa:
      default:
        for (unsigned i = 0; i < operand_counts_[opcode - 1]; ++i) in.read_uleb128();
        break;
    }
  }
  return found;
}

}  // namespace fathom::symbolize
