// One line number program of .debug_line: addresses -> files and lines. Source: DWARF 5 section 6.2, and 2 to
// 4 for their headers. Pure; bytes are untrusted.
//
// libdw would keep every row of every unit it has looked at, eleven bytes for each byte of .debug_line (src/binary/symbolize/WHY.md has
// the measurement). A profile asks few addresses at a time, so the program is run for a batch of sorted addresses at some
// nanoseconds a row. What is kept is of which addresses each few kilobytes of it speak: later batches run those alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cursor.h"
#include "base/result.h"

namespace fathom::symbolize {

struct LineSections {
  std::span<const std::byte> line;         // .debug_line
  std::span<const std::byte> line_string;  // .debug_line_str; empty before DWARF 5
  std::span<const std::byte> string;       // .debug_str
};

struct LineRow {
  std::uint64_t file = 0;  // for LineProgram::file()
  std::uint32_t line = 0;  // 0: the compiler made it up, it belongs to no line
  std::uint32_t discriminator = 0;
};

class LineProgram {
 public:
  // The program at `offset` of .debug_line. `directory` and `name` are the unit's own (DW_AT_comp_dir,
  // DW_AT_name). The sections outlive the program.
  static Result<LineProgram> parse(const LineSections& sections, std::uint64_t offset, std::string directory,
                                   std::string name);

  // For each of the ascending `addresses`, the row in force there, if any; of rows at one address, the last.
  std::vector<std::optional<LineRow>> find(std::span<const std::uint64_t> addresses);

  // The path of a file, joined with its folders and without "." and ".."; "" for a number that is not in the
  // table. Also for DW_AT_call_file and DW_AT_decl_file.
  std::string file(std::uint64_t number) const;

 private:
  struct File {
    std::string_view name;
    std::uint64_t directory = 0;
  };
  // What the machine of section 6.2.2 knows between two instructions.
  struct State {
    struct Row {
      std::uint64_t address = 0, file = 1;
      std::uint32_t line = 1, discriminator = 0;
    } row, before;  // before: the last one that was emitted
    bool in_sequence = false;
    bool discarded = false;  // the linker has left this sequence out and made its address 0
  };
  // A part of the program that can be run by itself.
  struct Stretch {
    std::size_t from = 0;  // offset in the program; it ends where the next one begins
    State state;           // there
    std::uint64_t low = ~std::uint64_t{0}, high = 0;  // its rows are of addresses in [low, high)
  };
  class Machine;
  LineProgram() : program_(std::span<const std::byte>()) {}
  bool parse_tables_2_to_4(Cursor& in);
  bool parse_tables_5(Cursor& in, const LineSections& sections, bool wide);

  std::string directory_, name_;
  std::uint16_t version_ = 0;
  std::uint8_t instruction_length_ = 1, line_range_ = 1, opcode_base_ = 1;
  std::int8_t line_base_ = 0;
  std::vector<std::uint8_t> operand_counts_;
  std::vector<std::string_view> directories_;
  std::vector<File> files_;
  Cursor program_;
  std::vector<Stretch> stretches_;  // all of the program; empty before it has been run once
};

}  // namespace fathom::symbolize
