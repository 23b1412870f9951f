#include "binary/symbolize/line_program.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>

namespace fathom::symbolize {
namespace {

constexpr std::size_t kStretch = 4096;  // bytes of a program that are run at least

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
  // operator/ starts over at an absolute part.
  if (file.directory < directories_.size()) path /= directories_[file.directory];
  path /= file.name;
  return path.lexically_normal().string();
}

// Runs stretches of the program, and answers what was asked on the way.
class LineProgram::Machine {
 public:
  Machine(const LineProgram& program, std::span<const std::uint64_t> addresses,
          std::vector<std::optional<LineRow>>& found)
      : program_(program), addresses_(addresses), found_(found) {}

  // From `stretch` up to the offset `end`; the addresses of its rows are put into it. Where it gets longer than `longest`, it
  // ends behind a row. Returns the one that begins where it ended.
  Stretch run(Stretch& stretch, std::size_t end, std::size_t longest);

 private:
  void emit(Stretch& stretch);
  std::size_t first_at_or_above(std::uint64_t address) const {
    return static_cast<std::size_t>(std::lower_bound(addresses_.begin(), addresses_.end(), address) -
                                    addresses_.begin());
  }

  const LineProgram& program_;
  std::span<const std::uint64_t> addresses_;
  std::vector<std::optional<LineRow>>& found_;
  State state_;
  std::size_t next_ = 0;  // the first address that may still lie in this sequence
};

// A row holds from its address to that of the next row.
void LineProgram::Machine::emit(Stretch& stretch) {
  State::Row &row = state_.row, &before = state_.before;
  if (!state_.in_sequence || row.address < before.address) {
    next_ = first_at_or_above(row.address);
    if (!state_.in_sequence) state_.discarded = row.address == 0;
    state_.in_sequence = true;
  } else if (!state_.discarded) {
    stretch.low = std::min(stretch.low, before.address);
    stretch.high = std::max(stretch.high, row.address);
    for (; next_ < addresses_.size() && addresses_[next_] < row.address; ++next_)
      if (!found_[next_]) found_[next_] = LineRow{before.file, before.line, before.discriminator};
  }
  before = row;
  row.discriminator = 0;  // it is of one row
}

LineProgram::Stretch LineProgram::Machine::run(Stretch& stretch, std::size_t end, std::size_t longest) {
  state_ = stretch.state;
  next_ = first_at_or_above(state_.before.address);
  State::Row& row = state_.row;
  const unsigned base = program_.opcode_base_, range = program_.line_range_;
  const auto add_line = [&](std::int64_t difference) {
    row.line = static_cast<std::uint32_t>(row.line + static_cast<std::uint64_t>(difference));
  };
  const std::span<const std::byte> all = program_.program_.rest();
  Cursor in(all.subspan(stretch.from, end - stretch.from));
  bool emitted = false;  // and so the stretch may end here
  while (in.remaining() != 0 && !(emitted && in.offset() >= longest)) {
    emitted = false;
    const auto opcode = in.read<std::uint8_t>();
    if (opcode >= base) {
      const unsigned adjusted = opcode - base;
      row.address += adjusted / range * program_.instruction_length_;
      add_line(program_.line_base_ + static_cast<int>(adjusted % range));
      emit(stretch);
      emitted = true;
      continue;
    }
    switch (opcode) {
      case 0: {
        Cursor extended = in.sub(in.read_uleb128());
        switch (extended.read<std::uint8_t>()) {
          case DW_LNE_end_sequence:
            emit(stretch);
            state_ = State{};
            emitted = true;
            break;
          case DW_LNE_set_address:
            row.address =
                extended.remaining() == 4 ? extended.read<std::uint32_t>() : extended.read<std::uint64_t>();
            break;
          case DW_LNE_set_discriminator:
            row.discriminator = static_cast<std::uint32_t>(extended.read_uleb128());
            break;
          default:
            break;
        }
        break;
      }
      case DW_LNS_copy:
        emit(stretch);
        emitted = true;
        break;
      case DW_LNS_advance_pc:
        row.address += in.read_uleb128() * program_.instruction_length_;
        break;
      case DW_LNS_advance_line:
        add_line(in.read_sleb128());
        break;
      case DW_LNS_set_file:
        row.file = in.read_uleb128();
        break;
      case DW_LNS_const_add_pc:
        row.address += (255u - base) / range * program_.instruction_length_;
        break;
      case DW_LNS_fixed_advance_pc:
        row.address += in.read<std::uint16_t>();
        break;
      case DW_LNS_set_column:
      case DW_LNS_negate_stmt:
      case DW_LNS_set_basic_block:
      case DW_LNS_set_prologue_end:
      case DW_LNS_set_epilogue_begin:
      case DW_LNS_set_isa:
      default:
        for (unsigned i = 0; i < program_.operand_counts_[opcode - 1]; ++i) in.read_uleb128();
        break;
    }
  }
  Stretch next;
  next.from = in.ok() ? stretch.from + in.offset() : all.size();  // behind what is damaged nothing is read
  next.state = state_;
  return next;
}

std::vector<std::optional<LineRow>> LineProgram::find(std::span<const std::uint64_t> addresses) {
  std::vector<std::optional<LineRow>> found(addresses.size());
  Machine machine(*this, addresses, found);
  const std::size_t size = program_.rest().size();
  if (stretches_.empty()) {
    for (Stretch stretch; stretch.from < size;) {
      const Stretch next = machine.run(stretch, size, kStretch);
      stretches_.push_back(stretch);
      stretch = next;
    }
    return found;
  }
  // In the order of the program: of two rows for one address the first is taken.
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    Stretch stretch = stretches_[i];
    const auto wanted = std::lower_bound(addresses.begin(), addresses.end(), stretch.low);
    if (wanted == addresses.end() || *wanted >= stretch.high) continue;
    machine.run(stretch, i + 1 < stretches_.size() ? stretches_[i + 1].from : size, size);
  }
  return found;
}

}  // namespace fathom::symbolize
