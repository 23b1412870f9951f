#include "binary/elf/go_functions.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/cursor.h"

namespace fathom::elf {
namespace {

constexpr std::uint32_t kMagic116 = 0xfffffffa, kMagic118 = 0xfffffff0, kMagic120 = 0xfffffff1;
constexpr std::size_t kWord = 8;  // bytes
constexpr std::uint64_t kMostFunctions = 1 << 22;
constexpr std::uint32_t kLargestFunction = 1u << 24;  // bytes
constexpr int kMostRows = 1 << 16;                    // of one table of values
constexpr int kMostInlined = 128;                     // calls within each other at one address
constexpr std::size_t kLongestGoName = 1 << 16;
constexpr std::uint32_t kMostTables = 64;  // of one function; compilers write up to ten
constexpr std::uint32_t kInlineIndexTable = 2, kInlinedCallsTable = 3;
constexpr std::uint32_t kNoFile = ~std::uint32_t{0};
// Words of the runtime's record of a program (moduledata) that are asked for.
constexpr std::size_t kModuleNames = 1, kModuleText = 22, kFirstCallsBase = 36, kModuleWords = 48;
constexpr std::uint64_t kFunctionsTried = 4096;
constexpr int kHeadersTried = 16;  // without sections: each costs a look at all of the data

std::optional<GoVersion> version_of(std::span<const std::byte> bytes) {
  Cursor in(bytes);
  const auto magic = in.read<std::uint32_t>();
  const auto padding = in.read<std::uint16_t>();
  const auto quantum = in.read<std::uint8_t>();
  const auto word = in.read<std::uint8_t>();
  if (!in.ok() || padding != 0 || quantum != 1 || word != kWord) return std::nullopt;
  if (magic == kMagic116) return GoVersion::k116;
  if (magic == kMagic118) return GoVersion::k118;
  if (magic == kMagic120) return GoVersion::k120;
  return std::nullopt;
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t word = 0;
  if ((index + 1) * kWord <= bytes.size()) std::memcpy(&word, bytes.data() + index * kWord, kWord);
  return word;
}

}  // namespace

std::optional<GoFunctions> GoFunctions::find(const ElfFile& file) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const Section* section = file.section(name);
    if (section == nullptr) continue;
    GoFunctions table(file);
    const auto bytes = file.bytes_at(section->address, section->size);
    if (bytes && table.read(section->address, *bytes)) return table;
  }
  int left = kHeadersTried;
  for (const Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    const auto bytes = file.bytes_from(segment.address);
    for (std::size_t at = 0; at + kWord <= bytes.size() && left > 0; at += kWord) {
      if (bytes[at + 3] != std::byte{0xff} || !version_of(bytes.subspan(at, kWord))) continue;
      --left;
      GoFunctions table(file);
      if (table.read({segment.address.value + at}, bytes.subspan(at))) return table;
    }
  }
  return std::nullopt;
}

bool GoFunctions::read(ElfAddress address, std::span<const std::byte> bytes) {
  const auto version = version_of(bytes);
  if (!version) return false;
  version_ = *version;
  address_ = address;
  Cursor in(bytes);
  in.skip(kWord);
  count_ = in.read<std::uint64_t>();
  in.skip(kWord);  // count of files
  const std::uint64_t text = version_ == GoVersion::k116 ? 0 : in.read<std::uint64_t>();
  for (auto* part : {&names_, &units_, &files_, &values_, &functions_}) {
    const auto offset = in.read<std::uint64_t>();
    if (!in.ok() || offset >= bytes.size()) return false;
    if (part == &names_) names_offset_ = offset;
    *part = bytes.subspan(static_cast<std::size_t>(offset));
  }
  if (count_ == 0 || count_ > kMostFunctions || count_ > functions_.size() / 8) return false;
  find_bases(text);
  return true;
}

void GoFunctions::find_bases(std::uint64_t text_in_header) {
  text_ = text_in_header;
  const auto module = version_ == GoVersion::k116 ? std::nullopt : find_module();
  if (module) {
    std::array<std::uint64_t, kModuleWords> words{};
    const auto bytes = file_->bytes_from({*module});
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_at(bytes, i);
    if (text_ == 0) text_ = words[kModuleText];  // newer programs do not say it in the header
    if (text_ != 0) calls_base_ = calls_base(words);
  }
  if (text_ != 0) return;
  if (const Section* text = file_->section(".text")) {
    text_ = text->address.value;
    return;
  }
  for (const Segment& segment : file_->segments())
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0) {
      text_ = segment.address.value;
      return;
    }
}

// The record that begins with the table's address and then has that of its names. A program that is moved when it
// starts has these words in its relocations, and mostly here as well.
std::optional<std::uint64_t> GoFunctions::find_module() const {
  for (const Segment& segment : file_->segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) != 0) continue;
    const auto bytes = file_->bytes_from(segment.address);
    for (std::size_t i = 0; (i + kModuleNames + 1) * kWord <= bytes.size(); ++i)
      if (word_at(bytes, i) == address_.value &&
          word_at(bytes, i + kModuleNames) == address_.value + names_offset_)
        return segment.address.value + i * kWord;
  }
  return std::nullopt;
}

// Which word of the record it is has changed from version to version: it is the one by which the inlined calls of the
// program's functions are calls.
std::uint64_t GoFunctions::calls_base(std::span<const std::uint64_t> words) const {
  for (std::size_t i = kFirstCallsBase; i < words.size(); ++i)
    if (words[i] != 0 && calls_fit(words[i])) return words[i];
  return 0;
}

bool GoFunctions::calls_fit(std::uint64_t base) const {
  GoFunctions tried = *this;
  tried.calls_base_ = base;
  std::uint64_t with_calls = 0;
  const std::uint64_t step = std::max<std::uint64_t>(1, count_ / kFunctionsTried);
  for (std::uint64_t i = 0; i < count_; i += step) {
    const auto each = tried.function(i);
    if (!each || each->inlines == 0 || each->calls == 0) continue;
    const auto call = tried.call(*each, 0);
    if (!call) return false;
    // Names stand one behind the other.
    if (call->parent >= each->size || tried.name_at(call->name).empty() || call->name == 0 ||
        names_[call->name - 1] != std::byte{0})
      return false;
    ++with_calls;
  }
  return with_calls != 0;
}

std::optional<std::uint64_t> GoFunctions::entry_of(std::uint64_t index) const {
  const std::size_t size = version_ == GoVersion::k116 ? 16 : 8;
  if (index > count_) return std::nullopt;
  Cursor in(functions_);
  in.skip(index * size);
  const std::uint64_t entry =
      version_ == GoVersion::k116 ? in.read<std::uint64_t>() : text_ + in.read<std::uint32_t>();
  return in.ok() ? std::optional(entry) : std::nullopt;
}

std::optional<GoFunction> GoFunctions::function(std::uint64_t index) const {
  if (index >= count_) return std::nullopt;
  const auto start = entry_of(index), next = entry_of(index + 1);
  if (!start || !next || *next <= *start || *next - *start > kLargestFunction) return std::nullopt;
  const bool old = version_ == GoVersion::k116;
  Cursor in(functions_);
  in.skip(old ? index * 16 + 8 : index * 8 + 4);
  const std::uint64_t at = old ? in.read<std::uint64_t>() : in.read<std::uint32_t>();
  if (!in.ok() || at >= functions_.size()) return std::nullopt;

  GoFunction out;
  out.start = {*start};
  out.size = static_cast<std::uint32_t>(*next - *start);
  in = Cursor(functions_.subspan(static_cast<std::size_t>(at)));
  in.skip(old ? 8 : 4);  // where it starts
  out.name = in.read<std::uint32_t>();
  in.skip(2 * 4);  // arguments, deferred return
  out.frames = in.read<std::uint32_t>();
  out.files = in.read<std::uint32_t>();
  out.lines = in.read<std::uint32_t>();
  const auto value_tables = in.read<std::uint32_t>();
  out.unit = in.read<std::uint32_t>();
  if (version_ == GoVersion::k120) in.skip(4);  // the first line
  in.skip(1);                                   // what kind of function it is
  const auto flags = in.read<std::uint8_t>();
  if (!old) out.flags = flags;
  in.skip(1);
  const auto tables = in.read<std::uint8_t>();
  if (!in.ok() || value_tables > kMostTables) return std::nullopt;
  for (std::uint32_t i = 0; i < value_tables; ++i) {
    const auto table = in.read<std::uint32_t>();
    if (i == kInlineIndexTable) out.inlines = table;
  }
  if (old && (at + in.offset()) % kWord != 0) in.skip(kWord - (at + in.offset()) % kWord);
  for (std::uint32_t i = 0; i < tables && i <= kInlinedCallsTable; ++i) {
    const std::uint64_t table = old ? in.read<std::uint64_t>() : in.read<std::uint32_t>();
    if (i != kInlinedCallsTable || !in.ok()) continue;
    if (old)
      out.calls = table;
    else if (table != ~std::uint32_t{0} && calls_base_ != 0)
      out.calls = calls_base_ + table;
  }
  if (!in.ok()) out.calls = 0;
  return out;
}

std::optional<GoFunction> GoFunctions::function_around(ElfAddress address) const {
  std::uint64_t low = 0,
                high = count_;  // the last that starts at or before `address` lies in [low - 1, high)
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto entry = entry_of(middle);
    if (!entry) return std::nullopt;
    if (*entry <= address.value)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return std::nullopt;
  const auto found = function(low - 1);
  if (!found || address.value < found->start.value || address.value - found->start.value >= found->size)
    return std::nullopt;
  return found;
}

std::span<const std::byte> GoFunctions::values(std::uint32_t at) const {
  if (at == 0 || at >= values_.size()) return {};
  return values_.subspan(at);
}

std::optional<std::int32_t> GoFunctions::value_at(std::uint32_t table, std::uint32_t offset) const {
  const auto bytes = values(table);
  if (bytes.empty()) return std::nullopt;
  Cursor in(bytes);
  std::int64_t value = -1;
  std::uint64_t end = 0;
  for (int i = 0; i < kMostRows; ++i) {
    const std::uint64_t change = in.read_uleb128();
    if (!in.ok() || (change == 0 && i != 0) || change > ~std::uint32_t{0}) return std::nullopt;
    value +=
        (change & 1) != 0 ? ~static_cast<std::int64_t>(change >> 1) : static_cast<std::int64_t>(change >> 1);
    const std::uint64_t length = in.read_uleb128();
    if (!in.ok() || length == 0 || length > kLargestFunction || value < -1 || value > INT32_MAX)
      return std::nullopt;
    end += length;
    if (offset < end) return static_cast<std::int32_t>(value);
  }
  return std::nullopt;
}

std::string_view GoFunctions::name_at(std::uint32_t offset) const {
  if (offset >= names_.size()) return {};
  Cursor in(names_.subspan(offset, std::min(names_.size() - offset, kLongestGoName)));
  return in.read_c_string();
}

std::string_view GoFunctions::file_at(const GoFunction& function, std::uint32_t offset) const {
  const auto number = value_at(function.files, offset);
  if (!number || *number < 0) return {};
  const std::uint64_t at = (std::uint64_t{function.unit} + static_cast<std::uint32_t>(*number)) * 4;
  Cursor in(units_);
  in.skip(at);
  const auto name = in.read<std::uint32_t>();
  if (!in.ok() || name == kNoFile || name >= files_.size()) return {};
  return Cursor(files_.subspan(name, std::min<std::size_t>(files_.size() - name, kLongestGoName)))
      .read_c_string();
}

std::optional<GoFunctions::Call> GoFunctions::call(const GoFunction& function, std::int32_t index) const {
  if (index < 0 || function.calls == 0) return std::nullopt;
  const bool new_form = version_ == GoVersion::k120;
  const std::uint64_t size = new_form ? 16 : 20;
  const auto bytes = file_->bytes_at({function.calls + static_cast<std::uint64_t>(index) * size}, size);
  if (!bytes) return std::nullopt;
  Cursor in(*bytes);
  in.skip(new_form ? 4 : 12);  // what kind it is; before 1.20 also its parent, file and line
  const auto name = in.read<std::uint32_t>();
  const auto parent = in.read<std::uint32_t>();
  return Call{name, parent};
}

std::vector<GoPlace> GoFunctions::places(ElfAddress address, bool inlines) const {
  const auto function = function_around(address);
  if (!function) return {};
  std::vector<GoPlace> out;
  auto offset = static_cast<std::uint32_t>(address.value - function->start.value);
  const auto place = [&](std::uint32_t name) {
    const auto line = value_at(function->lines, offset);
    out.push_back({name_at(name), file_at(*function, offset),
                   line && *line > 0 ? static_cast<std::uint32_t>(*line) : 0});
  };
  for (int i = 0; i < kMostInlined; ++i) {
    const auto index = value_at(function->inlines, offset);
    const auto inlined = index ? call(*function, *index) : std::nullopt;
    if (!inlined || inlined->parent >= function->size || name_at(inlined->name).empty()) break;
    if (inlines) place(inlined->name);
    offset = inlined->parent;
  }
  place(function->name);
  if (out.back().function.empty()) return {};
  return out;
}

}  // namespace fathom::elf
