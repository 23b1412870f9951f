#include "binary/probes/usdt.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"
#include "binary/probes/testing_static_probe.h"

// What is looked for is in this program itself.
extern "C" {
__attribute__((used, section(".probes"))) unsigned short fathom_test_semaphore = 0;
__attribute__((used)) int fathom_test_global = 7;
}

namespace fathom::probes {
namespace {

[[gnu::noipa]] void tell(long value, int small) {
  FATHOM_TEST_PROBE("fathom_test", "told", "fathom_test_semaphore", "8@%0 -4@%1 8@$42", "r"(value),
                    "r"(small));
  FATHOM_TEST_PROBE("fathom_test", "told", "0", "8@%0 -4@%1 8f@%2", "r"(value), "r"(small), "x"(1.0));
  FATHOM_TEST_PROBE("fathom_test", "once", "0", "4@fathom_test_global(%%rip) 4@nowhere(%%rip)", "r"(value));
}

class FindUsdt : public ::testing::Test {
 protected:
  FindUsdt() { tell(1, 2); }
  Result<FoundUsdt> find(const char* text) {
    const Module modules[] = {{"/usr/bin/program", &file_.elf(), nullptr}};
    return find_usdt(modules, parse_wish(text).value());
  }
  std::string refusal(const char* text) {
    const auto found = find(text);
    return found ? "found" : found.error().message + " | " + found.error().remedy;
  }
  elf::ModuleFile file_ = elf::ModuleFile::open("/proc/self/exe").value();
};

TEST_F(FindUsdt, FindsEachPlaceWithItsOperandsAndItsSemaphore) {
  const auto found = find("fathom_test:told:arg1");
  ASSERT_TRUE(found) << found.error().message;
  const auto& places = found->probe.places;
  ASSERT_EQ(places.size(), 2U);
  EXPECT_TRUE(found->probe.problems.empty());
  ASSERT_TRUE(places[0].semaphore);
  EXPECT_FALSE(places[1].semaphore);
  ASSERT_EQ(places[0].arguments.size(), 3U);
  EXPECT_EQ(places[0].arguments[0].value.kind, PROBE_VALUE_REGISTER);
  EXPECT_EQ(places[0].arguments[1].value.size, 4);
  EXPECT_EQ(places[0].arguments[2].value.offset, 42);
  const auto bytes = file_.elf().bytes();
  for (const UsdtPlace& place : places) EXPECT_EQ(bytes[place.offset.value], std::byte{0x90});
}

// A breakpoint counts it up: it must be those bytes of the file that become the variable.
TEST_F(FindUsdt, TheSemaphoreIsTheVariablesPlaceInTheFile) {
  int seen = 0;
  for (const elf::Symbol& symbol : file_.elf().symbols(elf::SymbolTable::kSymtab)) {
    if (symbol.name != "fathom_test_semaphore") continue;
    ++seen;
    EXPECT_EQ(find("fathom_test:told")->probe.places[0].semaphore, file_.elf().offset_of(symbol.address));
  }
  EXPECT_EQ(seen, 1);
}

TEST_F(FindUsdt, NamesOfOperandsAreReckonedFromThePlace) {
  const auto found = find("fathom_test:once:arg1");
  ASSERT_TRUE(found) << found.error().message;
  const UsdtPlace& place = found->probe.places.at(0);
  const auto from = file_.elf().address_of(place.offset);
  ASSERT_TRUE(from);
  const ElfAddress global{from->value + static_cast<std::uint64_t>(place.arguments[0].value.offset)};
  const auto bytes = file_.elf().bytes_at(global, 4);
  ASSERT_TRUE(bytes);
  EXPECT_EQ((*bytes)[0], std::byte{7});
  EXPECT_EQ(place.arguments[1].problem, "the file does not say where 'nowhere' is");
}

TEST_F(FindUsdt, WhatIsNotThereIsRefusedWithWhatIs) {
  EXPECT_THAT(refusal("fathom_test:untold"), ::testing::AllOf(::testing::HasSubstr("no static probe"),
                                                              ::testing::HasSubstr("fathom_test:told")));
  EXPECT_THAT(refusal("fathom_test:told@other.so"), ::testing::HasSubstr("no static probe"));
  EXPECT_THAT(refusal("fathom_test:told:arg4"),
              ::testing::HasSubstr("--probe: fathom_test:told has 3 arguments, not "));
  EXPECT_THAT(refusal("fathom_test:told:arg3"), ::testing::HasSubstr("it is a floating-point number"));
  EXPECT_THAT(refusal("fathom_test:once:arg2"), ::testing::HasSubstr("does not say where 'nowhere' is"));
}

// Where a note points to something else than the instruction that does nothing, or to memory that is not to be written.
TEST(Usdt, PlacesThatAreNoneAreLeftOut) {
  using namespace elf::testing;
  using namespace std::string_literals;
  ElfBuilder builder(ET_EXEC);
  Bytes code(32);
  code[8] = std::byte{0x90};
  builder.segment(PT_LOAD, PF_R | PF_X, 0x10000, builder.blob(code));
  builder.segment(PT_LOAD, PF_R | PF_W, 0x20000, builder.blob(Bytes(32)));
  Bytes notes;
  const auto add = [&](std::uint64_t location, std::uint64_t semaphore) {
    Bytes body;
    put(body, location);
    put(body, std::uint64_t{0});
    put(body, semaphore);
    put_text(body, "p\0n\0\0"s);
    const Bytes made = note("stapsdt\0"s, 3, body);
    append(notes, made.data(), made.size());
  };
  add(0x10008, 0x20010);
  add(0x10009, 0);        // another instruction
  add(0x50000, 0);        // nowhere
  add(0x10008, 0x10010);  // code
  add(0x10008, 0x20011);  // odd
  add(0x10008, 0x20100);  // behind the data
  builder.section(".note.stapsdt", SHT_NOTE, 0, 0, builder.blob(notes));
  const Bytes bytes = builder.build();
  const auto file = elf::ElfFile::parse(bytes, "made").value();
  const auto probes = read_usdt(file);
  ASSERT_TRUE(probes) << probes.error().message;
  ASSERT_EQ(probes->size(), 1U);
  EXPECT_EQ((*probes)[0].places.size(), 1U);
  EXPECT_THAT((*probes)[0].problems,
              ::testing::ElementsAre("at 0x10009 is not an instruction of a probe",
                                     "at 0x50000 is not an instruction of a probe",
                                     "at 0x10010 is not a semaphore in the file's data",
                                     "at 0x20011 is not a semaphore in the file's data",
                                     "at 0x20100 is not a semaphore in the file's data"));
}

}  // namespace
}  // namespace fathom::probes
