#include "binary/elf/go_functions.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "binary/elf/testing_elf.h"

namespace fathom::elf {
namespace {

using testing::append;
using testing::Bytes;
using ::testing::ElementsAre;
using testing::put;
using testing::put_text;

constexpr std::uint64_t kCode = 0x10000, kTable = 0x200000, kCalls = 0x300000, kModule = 0x400000;

// One unit with "a.go" and "b.go". main.leaf, 0x100 bytes at 0x100, has main.mix inlined at 0x20..0x40 (called in
// a.go:14), and main.rotate within that at 0x30..0x40 (called in b.go:19). main.other begins at 0x200.
struct Spec {
  std::uint32_t magic = 0xfffffff1;
  std::uint64_t text = kCode;
  bool sections = true;
  std::size_t calls_word = 40;  // of the runtime's record
};

void put_u8(Bytes& out, std::initializer_list<int> values) {
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
}

struct Image {
  Bytes table, calls, module;
};

Image image_of(const Spec& spec) {
  const bool old = spec.magic == 0xfffffffa, with_first_lines = spec.magic == 0xfffffff1;
  Bytes names(1), files(1), units, values(1), entries, details;
  const auto text = [](Bytes& out, std::string_view value) {
    const auto at = static_cast<std::uint32_t>(out.size());
    put_text(out, value);
    out.push_back({});
    return at;
  };
  const auto leaf = text(names, "main.leaf"), mix = text(names, "main.mix"),
             rotate = text(names, "main.rotate"), other = text(names, "main.other");
  for (const char* file : {"/src/a.go", "/src/b.go"}) put(units, text(files, file));
  const auto value_table = [&](std::initializer_list<int> bytes) {
    const auto at = static_cast<std::uint32_t>(values.size());
    put_u8(values, bytes);
    return at;
  };
  // Values are differences, zigzag, from -1 on: 2 is +1, 1 is -1.
  const auto file_rows = value_table({2, 0x20, 2, 0x20, 1, 0xc0, 1, 0});             // 0, 1, 0
  const auto line_rows = value_table({30, 0x20, 8, 0x10, 4, 0x10, 11, 0xc0, 1, 0});  // 14, 18, 20, 14
  const auto inline_rows = value_table({0, 0x20, 2, 0x10, 2, 0x10, 3, 0xc0, 1, 0});  // -1, 0, 1, -1
  const std::size_t entry_size = old ? 16 : 8, index = 2 * entry_size + (old ? 8 : 4);
  const std::size_t details_at = (index + 7) / 8 * 8;
  const auto put_entry = [&](std::uint64_t offset, bool last) {
    if (old) {
      put(entries, kCode + offset);
      if (!last) put(entries, std::uint64_t{details_at + details.size()});
    } else {
      put(entries, static_cast<std::uint32_t>(offset));
      if (!last) put(entries, static_cast<std::uint32_t>(details_at + details.size()));
    }
  };
  const auto function = [&](std::uint64_t offset, std::uint32_t name, bool inlined) {
    put_entry(offset, false);
    if (old)
      put(details, kCode + offset);
    else
      put(details, static_cast<std::uint32_t>(offset));
    for (const std::uint32_t word : {name, 0u, 0u, 0u, file_rows, line_rows, inlined ? 3u : 0u, 0u})
      put(details, word);
    if (with_first_lines) put(details, 1u);
    put_u8(details, {0, 0, 0, inlined ? 4 : 0});
    if (!inlined) return;
    for (const std::uint32_t word : {0u, 0u, inline_rows}) put(details, word);
    if (old) details.resize((details_at + details.size() + 7) / 8 * 8 - details_at);
    for (int i = 0; i < 4; ++i) {
      if (old)
        put(details, i == 3 ? kCalls + 0x40 : std::uint64_t{0});
      else
        put(details, i == 3 ? 0x40u : ~0u);
    }
    details.resize((details.size() + 7) / 8 * 8);
  };
  function(0x100, leaf, true);
  function(0x200, other, false);
  put_entry(0x300, true);
  entries.resize(details_at);
  append(entries, details.data(), details.size());

  Image image;
  image.calls.resize(0x40);
  const auto call = [&](std::uint32_t name, std::uint32_t parent) {
    if (with_first_lines)
      put(image.calls, 0u);
    else
      for (int i = 0; i < 3; ++i) put(image.calls, ~0u);
    put(image.calls, name);
    put(image.calls, parent);
    put(image.calls, 0u);
    if (!with_first_lines) image.calls.resize(image.calls.size() - 4);
  };
  call(mix, 0x08);
  call(rotate, 0x28);

  Bytes& out = image.table;
  put(out, spec.magic);
  put_u8(out, {0, 0, 1, 8});
  put(out, std::uint64_t{2});
  put(out, std::uint64_t{2});
  if (!old) put(out, spec.text);
  std::uint64_t at = out.size() + 5 * 8;
  std::uint64_t names_at = at;
  for (Bytes* part : {&names, &units, &files, &values, &entries}) {
    part->resize((part->size() + 7) / 8 * 8);
    put(out, at);
    at += part->size();
  }
  for (const Bytes* part : {&names, &units, &files, &values, &entries})
    append(out, part->data(), part->size());

  image.module.resize(48 * 8);
  const auto word = [&](std::size_t index_of, std::uint64_t value) {
    std::memcpy(image.module.data() + index_of * 8, &value, 8);
  };
  word(0, kTable);
  word(1, kTable + names_at);
  word(22, kCode);
  for (std::size_t i = 36; i < 48; ++i) word(i, kCode + i);  // what leads to no calls
  word(spec.calls_word, kCalls);
  return image;
}

Bytes program(const Spec& spec, const Image& image) {
  testing::ElfBuilder builder(ET_EXEC);
  const auto code = builder.blob(Bytes(0x400, std::byte{0x90}));
  const auto table = builder.blob(image.table), calls = builder.blob(image.calls),
             module = builder.blob(image.module);
  builder.segment(PT_LOAD, PF_R | PF_X, kCode, code);
  builder.segment(PT_LOAD, PF_R, kTable, table);
  builder.segment(PT_LOAD, PF_R, kCalls, calls);
  builder.segment(PT_LOAD, PF_R | PF_W, kModule, module);
  if (spec.sections) builder.section(".gopclntab", SHT_PROGBITS, SHF_ALLOC, kTable, table);
  return builder.build();
}

std::string words(const std::vector<GoPlace>& places) {
  std::string out;
  for (const GoPlace& place : places)
    out += (out.empty() ? "" : " < ") + std::string(place.function) + " " + std::string(place.file) + ":" +
           std::to_string(place.line);
  return out;
}

void expect_names(const Spec& spec) {
  const Bytes bytes = program(spec, image_of(spec));
  const ElfFile file = ElfFile::parse(bytes, "hand-made").value();
  const auto table = GoFunctions::find(file);
  ASSERT_TRUE(table);
  const auto at = [&](std::uint64_t offset) { return words(table->places({kCode + offset}, true)); };
  EXPECT_EQ(at(0x0ff), "");
  EXPECT_EQ(at(0x100), "main.leaf /src/a.go:14");
  EXPECT_EQ(at(0x120), "main.mix /src/b.go:18 < main.leaf /src/a.go:14");
  EXPECT_EQ(at(0x13f), "main.rotate /src/b.go:20 < main.mix /src/b.go:18 < main.leaf /src/a.go:14");
  EXPECT_EQ(at(0x140), "main.leaf /src/a.go:14");
  EXPECT_EQ(at(0x200), "main.other /src/a.go:14");
  EXPECT_EQ(at(0x300), "");
  EXPECT_EQ(words(table->places({kCode + 0x13f}, false)), "main.leaf /src/a.go:14");
}

TEST(GoFunctions, NamesFilesLinesAndInlinedCalls) {
  expect_names({});
}

TEST(GoFunctions, OlderForms) {
  expect_names({.magic = 0xfffffff0, .calls_word = 38});
  expect_names({.magic = 0xfffffffa});
}

TEST(GoFunctions, FoundWithoutSectionHeadersAndWithoutTheWordOfItsCode) {
  expect_names({.text = 0, .sections = false});
}

TEST(GoFunctions, WithoutTheRuntimesRecordInlinedCallsAreNotKnown) {
  Image image = image_of({});
  image.module[0] = std::byte{1};
  const Bytes bytes = program({}, image);
  const ElfFile file = ElfFile::parse(bytes, "hand-made").value();
  EXPECT_EQ(words(GoFunctions::find(file).value().places({kCode + 0x13f}, true)), "main.leaf /src/b.go:20");
}

TEST(GoFunctions, OtherVersionsAreRefused) {
  const Spec spec{.magic = 0xfffffff2};
  const Bytes bytes = program(spec, image_of(spec));
  const ElfFile file = ElfFile::parse(bytes, "hand-made").value();
  EXPECT_FALSE(GoFunctions::find(file));
}

TEST(GoFunctions, DamagedTablesGiveWhatIsLeft) {
  const Image whole = image_of({});
  const auto ask = [](const Image& image) {
    const Bytes bytes = program({}, image);
    const ElfFile file = ElfFile::parse(bytes, "hand-made").value();
    const auto table = GoFunctions::find(file);
    if (!table) return;
    for (std::uint64_t offset = 0; offset < 0x400; offset += 16)
      EXPECT_LE(table->places({kCode + offset}, true).size(), 129u);
  };
  for (std::size_t at = 0; at < whole.table.size(); ++at) {
    Image damaged = whole;
    damaged.table[at] = ~damaged.table[at];
    ask(damaged);
    damaged.table.resize(at);
    ask(damaged);
  }
  // A call that is inlined into itself.
  Image loop = whole;
  const std::uint32_t itself = 0x30;
  std::memcpy(loop.calls.data() + 0x40 + 16 + 8, &itself, 4);
  ask(loop);
}

}  // namespace
}  // namespace fathom::elf
