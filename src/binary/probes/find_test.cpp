#include "binary/probes/find.h"
#include "base/shell_word.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "binary/elf/module_file.h"

// What is looked for is in this program itself.
extern "C" [[gnu::noipa]] int fathom_probed_plainly(int value) {
  return value % 7 == 3 ? value * 3 : value + 1;
}

extern "C" [[gnu::noipa, gnu::optimize("optimize-sibling-calls")]] int fathom_leaves_by_a_jump(
    const char* text) {
  return ::puts(text);
}

namespace probed {
struct Table {
  [[gnu::noipa]] int put(int value) const { return value + 2; }
  [[gnu::noipa]] long put(long value) const { return value + 3; }
  [[gnu::noipa]] int take(int value) const { return value + 4; }
};
[[gnu::noipa]] int jump_table(int which, int value) {
  switch (which) {
    case 0:
      return fathom_probed_plainly(value) + 1;
    case 1:
      return Table{}.take(value) * 3;
    case 2:
      return Table{}.put(value) - 4;
    case 3:
      return fathom_probed_plainly(value + 9) / 5;
    case 4:
      return Table{}.take(value + 1) + 13;
    case 5:
      return fathom_probed_plainly(value ^ 21) - 8;
    default:
      return value;
  }
}
}  // namespace probed

namespace fathom::probes {
namespace {

class FindFunction : public testing::Test {
 protected:
  Result<Found> find(const char* text) {
    const Module modules[] = {{"/usr/bin/program", &file_.elf(), nullptr}};
    return find_function(modules, parse_wish(text).value());
  }
  std::string remedy(const char* text, ErrorKind kind) {
    const auto found = find(text);
    if (found) return "found";
    EXPECT_EQ(found.error().kind, kind) << found.error().message;
    return found.error().message + " | " + found.error().remedy;
  }
  elf::ModuleFile file_ = elf::ModuleFile::open("/proc/self/exe").value();
  // Else the linker would leave them out.
  int used_ = fathom_probed_plainly(1) + probed::Table{}.put(1) + static_cast<int>(probed::Table{}.put(1L)) +
              probed::Table{}.take(1) + probed::jump_table(2, 1) + fathom_leaves_by_a_jump("");
};

TEST_F(FindFunction, ByItsNameWithTheEndsOfItsCalls) {
  const auto found = find("fathom_probed_plainly");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->name, "fathom_probed_plainly");
  EXPECT_EQ(found->untimed, "");
  ASSERT_EQ(found->places.size(), 1U);
  const Place& place = found->places[0];
  EXPECT_EQ(file_.elf().offset_of(place.entry)->value, place.entry_offset.value);
  ASSERT_FALSE(place.ends.empty());
  for (const Place::End& end : place.ends) {
    EXPECT_TRUE(end.what.returns);
    EXPECT_EQ(file_.elf().offset_of(ElfAddress{end.what.address})->value, end.offset.value);
  }
}

// What is behind the jump, the table of all ways into other libraries, is no piece of the function.
TEST_F(FindFunction, AJumpIntoAnotherLibraryIsAnEndAndNothingMore) {
  const auto found = find("fathom_leaves_by_a_jump");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->untimed, "");
  ASSERT_EQ(found->places.at(0).ends.size(), 1U);
  EXPECT_FALSE(found->places[0].ends[0].what.returns);
}

TEST_F(FindFunction, ByTheNameThatPeopleWrite) {
  const auto found = find("probed::Table::take");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->name, "probed::Table::take");
  EXPECT_TRUE(find("probed::Table::put(int) const@program"));
  EXPECT_TRUE(find("_ZNK6probed5Table4takeEi@/usr/bin/program"));
}

TEST_F(FindFunction, OfALibraryByTheNameThatProgramsHaveForIt) {
  const Module modules[] = {{"/usr/lib/libprobed.so.3.14.1", &file_.elf(), nullptr}};
  const auto in = [&](const char* text) {
    return find_function(modules, parse_wish(text).value()).has_value();
  };
  EXPECT_TRUE(in("fathom_probed_plainly@libprobed.so.3"));
  EXPECT_TRUE(in("fathom_probed_plainly@libprobed.so"));
  EXPECT_FALSE(in("fathom_probed_plainly@libprobed.so.3.1"));
  EXPECT_FALSE(in("fathom_probed_plainly@libprobe"));
}

TEST_F(FindFunction, OneNameOfSeveralFunctionsIsRefusedWithAllOfThem) {
  EXPECT_THAT(remedy("probed::Table::put", ErrorKind::kUsage),
              testing::AllOf(testing::HasSubstr("each of 2 functions"),
                             testing::HasSubstr("probed::Table::put(int) const@program; "
                                                "probed::Table::put(long) const@program")));
}

TEST_F(FindFunction, WhatIsNotThereIsAnsweredWithWhatIsSimilar) {
  EXPECT_THAT(remedy("fathom_probed_plainyl", ErrorKind::kNotFound),
              testing::HasSubstr("similar: fathom_probed_plainly"));
  EXPECT_THAT(remedy("Table::take", ErrorKind::kNotFound),
              testing::HasSubstr("probed::Table::take(int) const"));
  EXPECT_THAT(
      remedy("fathom_probed_plainly@libnone.so", ErrorKind::kNotFound),
      testing::AllOf(testing::HasSubstr("no module 'libnone.so'"), testing::HasSubstr("one of program")));
}

// Where a file was stripped, names come from what was stripped off it, and places from the file itself.
TEST_F(FindFunction, ByTheNamesOfItsSeparateDebugFile) {
  char folder[] = "/tmp/fathom_probes_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string stripped = folder + std::string("/stripped"), debug = folder + std::string("/debug");
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "objcopy --only-keep-debug " + shell_word(program) + " " + debug +
                              " && objcopy --strip-all " + shell_word(program) + " " + stripped;
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto file = elf::ModuleFile::open(stripped).value(), names = elf::ModuleFile::open(debug).value();
  const Wish wish = parse_wish("probed::Table::take").value();
  const Module nameless[] = {{"/usr/bin/program", &file.elf(), nullptr}};
  const auto refused = find_function(nameless, parse_wish("probed::Table::take@program").value());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("its other names were stripped off"));
  const Module modules[] = {{"/usr/bin/program", &file.elf(), nullptr, &names.elf()}};
  const auto found = find_function(modules, wish), whole = find("probed::Table::take");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(whole);
  EXPECT_EQ(found->name, "probed::Table::take");
  ASSERT_EQ(found->places.size(), whole->places.size());
  EXPECT_EQ(found->places[0].entry.value, whole->places[0].entry.value);
  EXPECT_EQ(found->places[0].ends.size(), whole->places[0].ends.size());
}

TEST_F(FindFunction, AJumpThroughATableWithinItsFrameIsNoEnd) {
  const auto found = find("probed::jump_table");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->untimed, "");
  for (const Place::End& end : found->places.at(0).ends)
    EXPECT_TRUE(end.what.returns || end.what.target != 0);
}

}  // namespace
}  // namespace fathom::probes
