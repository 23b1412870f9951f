#include "base/arch/common/probe_operand.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>

namespace fathom::arch {
namespace {

constexpr std::size_t kMostOperands = 12;
constexpr std::size_t kLongestOperand = 4096;

struct Register {
  std::uint8_t number = 0;  // DWARF
  std::uint8_t size = 8;    // bytes
  std::uint8_t shift = 0;
};

// By DWARF number (System V ABI, figure 3.36): the name in 8, 4, 2 bytes and in 1; "h": the second byte.
constexpr struct {
  std::string_view names[4], second_byte;
} kRegisters[] = {
    {{"rax", "eax", "ax", "al"}, "ah"}, {{"rdx", "edx", "dx", "dl"}, "dh"},
    {{"rcx", "ecx", "cx", "cl"}, "ch"}, {{"rbx", "ebx", "bx", "bl"}, "bh"},
    {{"rsi", "esi", "si", "sil"}, ""},  {{"rdi", "edi", "di", "dil"}, ""},
    {{"rbp", "ebp", "bp", "bpl"}, ""},  {{"rsp", "esp", "sp", "spl"}, ""},
};

std::optional<Register> register_named(std::string_view name) {
  for (std::uint8_t number = 0; number < std::size(kRegisters); ++number) {
    for (std::uint8_t width = 0; width < 4; ++width)
      if (name == kRegisters[number].names[width])
        return Register{number, static_cast<std::uint8_t>(8 >> width), 0};
    if (!name.empty() && name == kRegisters[number].second_byte) return Register{number, 1, 8};
  }
  if (name == "rip") return Register{PROBE_REGISTER_PC, 8, 0};
  if (!name.starts_with('r')) return std::nullopt;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (error != std::errc{} || number < 8 || number > 15) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(name.data() + name.size() - end));
  const auto named = static_cast<std::uint8_t>(number);
  if (suffix.empty()) return Register{named, 8, 0};
  if (suffix == "d") return Register{named, 4, 0};
  if (suffix == "w") return Register{named, 2, 0};
  if (suffix == "b") return Register{named, 1, 0};
  return std::nullopt;
}

// Decimal or 0x..., of 64 bits whatever its sign. Cuts it off the front of `text`.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const bool hexadecimal = rest.starts_with("0x");
  if (hexadecimal) rest.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc{}) return std::nullopt;
  text = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '$';
}

std::string take_symbol(std::string_view& text) {
  std::size_t size = 0;
  if (!text.empty() && (text[0] < '0' || text[0] > '9'))
    while (size < text.size() && is_of_a_name(text[size])) ++size;
  std::string symbol(text.substr(0, size));
  text.remove_prefix(size);
  return symbol;
}

// "(%rbp)", "(%rax,%rbx,4)", "(,%rax,8)"; what is left out is no register. False: it is none of these.
bool take_registers(std::string_view text, probe_value& value) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  text = text.substr(1, text.size() - 2);
  const auto part = [&] {
    const std::size_t comma = text.find(',');
    const std::string_view first = text.substr(0, comma);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    return first;
  };
  const auto full = [](std::string_view name) -> std::optional<std::uint8_t> {
    if (!name.starts_with('%')) return std::nullopt;
    const auto found = register_named(name.substr(1));
    if (!found || found->size != 8) return std::nullopt;
    return found->number;
  };
  const std::string_view base = part(), index = part(), scale = part();
  if (!text.empty() || (base.empty() && index.empty())) return false;
  if (!base.empty()) {
    const auto number = full(base);
    if (!number) return false;
    value.base = *number;
  }
  if (index.empty()) return scale.empty();
  const auto number = full(index);
  if (!number || *number == PROBE_REGISTER_PC || value.base == PROBE_REGISTER_PC) return false;
  value.index = *number;
  if (scale.empty()) return true;
  if (scale != "1" && scale != "2" && scale != "4" && scale != "8") return false;
  value.scale = static_cast<std::uint8_t>(scale[0] - '0');
  return true;
}

ProbeOperand unread(std::string_view why) {
  ProbeOperand none;
  none.problem = why;
  return none;
}

ProbeOperand operand(std::string_view text) {
  ProbeOperand made;
  probe_value& value = made.value;
  value.base = value.index = PROBE_NO_REGISTER;
  value.scale = 1;
  const std::size_t at = text.find('@');
  std::string_view size = text.substr(0, at);
  if (at == text.npos || text.size() > kLongestOperand) return unread("its size is not said");
  if (size.find('f') != size.npos) return unread("it is a floating-point number");
  value.is_signed = size.starts_with('-');
  if (value.is_signed) size.remove_prefix(1);
  if (size != "1" && size != "2" && size != "4" && size != "8")
    return unread("its size is none of 1, 2, 4 and 8");
  value.size = static_cast<std::uint8_t>(size[0] - '0');
  std::string_view rest = text.substr(at + 1);
  if (rest.starts_with('$')) {
    rest.remove_prefix(1);
    const auto number = take_number(rest);
    if (!number || !rest.empty()) return unread("its constant is not a number");
    value.kind = PROBE_VALUE_CONSTANT;
    value.offset = *number;
    return made;
  }
  if (rest.starts_with('%')) {
    if (rest.find(':') != rest.npos) return unread("it is in memory of its thread alone");
    const auto found = register_named(rest.substr(1));
    if (!found || found->number == PROBE_REGISTER_PC) return unread("its register is not a general one");
    // What a probe calls a number of 4 bytes may stand in the name of the whole register, and not the other way round.
    if (found->size < value.size) return unread("its register is smaller than it");
    value.kind = PROBE_VALUE_REGISTER;
    value.base = found->number;
    value.shift = found->shift;
    return made;
  }
  made.symbol = take_symbol(rest);
  if (rest.starts_with('@')) return unread("only the loader knows its address");
  if (!rest.starts_with('(') && !rest.empty()) {
    const auto number = take_number(rest);
    if (!number) return unread("its operand is not understood");
    value.offset = *number;
  }
  if (!rest.empty() && !take_registers(rest, value)) return unread("its operand is not understood");
  if (rest.empty() && made.symbol.empty()) return unread("its operand is not understood");
  value.kind = PROBE_VALUE_MEMORY;
  return made;
}

}  // namespace

// A blank parts two arguments. None stands within an operand of this processor's assembler.
std::vector<ProbeOperand> probe_operands(std::string_view arguments) {
  std::vector<ProbeOperand> operands;
  while (operands.size() < kMostOperands) {
    const std::size_t first = arguments.find_first_not_of(' ');
    if (first == arguments.npos) break;
    arguments.remove_prefix(first);
    const std::size_t end = arguments.find(' ');
    operands.push_back(operand(arguments.substr(0, end)));
    if (!operands.back().problem.empty()) operands.back().symbol.clear();
    if (end == arguments.npos) break;
    arguments.remove_prefix(end);
  }
  return operands;
}

// NOP of one byte, and those of two and of five that newer headers write (SDM volume 2, NOP).
bool is_probe_place(std::span<const std::byte> code) {
  const auto begins = [&](std::initializer_list<unsigned> bytes) {
    return code.size() >= bytes.size() &&
           std::equal(bytes.begin(), bytes.end(), code.begin(),
                      [](unsigned wanted, std::byte is) { return std::byte(wanted) == is; });
  };
  return begins({0x90}) || begins({0x66, 0x90}) || begins({0x0f, 0x1f, 0x44, 0x00, 0x00});
}

}  // namespace fathom::arch
