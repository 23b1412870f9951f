// The program as built: fathom runs as root and reads untrusted data, so a defect in it should end in an
// abort and not in an attacker's code.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cursor.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/plt.h"

namespace fathom::cli {
namespace {

class Hardening : public testing::Test {
 protected:
  void SetUp() override {
    auto file = elf::ModuleFile::open(FATHOM_BINARY);
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(std::move(*file));
  }
  const elf::ElfFile& elf() const { return file_->elf(); }

  // Tag to value.
  std::map<std::uint64_t, std::uint64_t> dynamic_section() const {
    const elf::Segment* segment = elf().segment(PT_DYNAMIC);
    std::map<std::uint64_t, std::uint64_t> entries;
    if (segment == nullptr) return entries;
    Cursor in(elf().bytes().subspan(segment->offset.value, segment->file_size));
    while (in.ok() && in.remaining() >= sizeof(Elf64_Dyn)) {
      const auto tag = in.read<std::uint64_t>();
      entries[tag] = in.read<std::uint64_t>();
    }
    return entries;
  }

  std::vector<std::string> imported_functions() const {
    std::vector<std::string> names;
    for (const elf::Symbol& symbol : elf().symbols(elf::SymbolTable::kDynsym))
      if (symbol.section == SHN_UNDEF) names.emplace_back(symbol.name);
    return names;
  }

  // `call rel32` in the code that leads to the PLT entry of `function`.
  std::size_t calls_of(const std::string& function) const {
    const auto entries = symbolize::plt_entries(elf(), {});
    const auto entry = std::ranges::find(entries, function, &symbolize::PltEntry::name);
    const elf::Section* text = elf().section(".text");
    if (entry == entries.end() || text == nullptr) return 0;
    const auto code = elf().bytes().subspan(text->offset.value, text->size);
    std::size_t calls = 0;
    for (std::size_t i = 0; i + 5 <= code.size(); ++i) {
      if (code[i] != std::byte{0xe8}) continue;
      std::int32_t distance = 0;
      std::memcpy(&distance, &code[i + 1], sizeof(distance));
      if (text->address.value + i + 5 + static_cast<std::uint64_t>(std::int64_t{distance}) ==
          entry->start.value)
        ++calls;
    }
    return calls;
  }

  std::optional<elf::ModuleFile> file_;
};

TEST_F(Hardening, IsPositionIndependent) {
  EXPECT_NE(dynamic_section()[DT_FLAGS_1] & DF_1_PIE, 0u);
}

TEST_F(Hardening, AddressesOfOthersAreBoundAtTheStartAndReadOnlyFromThenOn) {
  auto dynamic = dynamic_section();
  EXPECT_TRUE((dynamic[DT_FLAGS] & DF_BIND_NOW) != 0 || (dynamic[DT_FLAGS_1] & DF_1_NOW) != 0);
  const elf::Segment* relro = elf().segment(PT_GNU_RELRO);
  ASSERT_NE(relro, nullptr);
  const elf::Section* got = elf().section(".got");
  ASSERT_NE(got, nullptr);
  EXPECT_GE(got->address.value, relro->address.value);
  EXPECT_LE(got->address.value + got->size, relro->address.value + relro->memory_size);
  EXPECT_EQ(elf().section(".got.plt"), nullptr) << "a part of the table of addresses stays writable";
}

TEST_F(Hardening, NothingIsWritableAndExecutable) {
  const elf::Segment* stack = elf().segment(PT_GNU_STACK);
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->flags & PF_X, 0u);
  for (const elf::Segment& segment : elf().segments())
    EXPECT_FALSE(segment.type == PT_LOAD && (segment.flags & PF_W) != 0 && (segment.flags & PF_X) != 0);
}

// Static libraries of the system bring a few protected functions along, so that one call proves nothing.
TEST_F(Hardening, FunctionsWithArraysLookForAnOverwrittenStack) {
  EXPECT_GT(calls_of("__stack_chk_fail"), 500u);
}

TEST_F(Hardening, CopiesIntoArraysOfKnownSizeAreChecked) {
  // Not those that a static library of the system uses, too.
  EXPECT_THAT(imported_functions(),
              testing::Contains(testing::AnyOf("__memcpy_chk", "__read_chk", "__realpath_chk")));
}

// Whether a path in the text begins with the folder: "/src" does not begin "/usr/src".
bool names_folder(std::string_view text, std::string_view folder) {
  for (auto at = text.find(folder); at != text.npos; at = text.find(folder, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const char behind = at + folder.size() < text.size() ? text[at + folder.size()] : '/';
    const auto in_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    };
    if (!in_name(before) && !in_name(behind)) return true;
  }
  return false;
}

TEST(NamedFolder, IsOneWhereAPathBeginsWithIt) {
  EXPECT_TRUE(names_folder("in /src/a.cpp", "/src"));
  EXPECT_TRUE(names_folder("/usr/src/b and /src", "/src"));
  for (const char* other : {"", "/usr/src/b", "/srcs/b", "/src2", "/go/pkg/x-src"})
    EXPECT_FALSE(names_folder(other, "/src")) << other;
}

// Neither in messages of assertions nor in the type information of the BPF programs, which are embedded.
TEST_F(Hardening, NamesNoFolderOfTheMachineThatBuiltIt) {
  const auto bytes = elf().bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_FALSE(names_folder(text, FATHOM_SOURCE_FOLDER));
  EXPECT_FALSE(names_folder(text, FATHOM_BUILD_FOLDER));
}

}  // namespace
}  // namespace fathom::cli
