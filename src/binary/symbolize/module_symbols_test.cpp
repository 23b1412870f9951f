#include "binary/symbolize/module_symbols.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"
#include "binary/symbolize/demangle.h"
#include "binary/symbolize/named_ranges.h"
#include "binary/symbolize/testing_fixtures.h"
#include "model/nameless_function.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;
using model::ModuleKind;
using model::SymbolSource;

// A folder of its own for each test, with fixtures copied where the test wants them.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "fathom-symbols-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string copy(const std::string& name, const std::string& to) const {
    const fs::path target = fs::path(path_) / to;
    fs::create_directories(target.parent_path());
    fs::copy_file(fixture(name), target, fs::copy_options::overwrite_existing);
    return target.string();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Where a function of the fixture starts, from its unstripped form.
ElfAddress address_of(const std::string& name, const std::string& file = "dwarf5") {
  const auto elf = elf::ModuleFile::open(fixture(file));
  for (const auto& symbol : elf->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.name == name) return symbol.address;
  ADD_FAILURE() << name << " is not in " << file;
  return {};
}

std::string outermost(ModuleSymbols& symbols, ElfAddress address) {
  const std::vector<ElfAddress> addresses = {address};
  const auto names = symbols.resolve(addresses);
  return names[0].empty() ? "" : names[0].back().function;
}

constexpr const char* kFill = "_ZN5store4fillERNS_6BucketEj";
constexpr const char* kFillName = "store::fill(store::Bucket&, unsigned int)";

TEST(FileSymbols, DwarfGivesTheChainOfInlinedCalls) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5")}, no_debug_directories());
  EXPECT_EQ(symbols->source(), SymbolSource::kDwarf);
  EXPECT_EQ(symbols->source_path(), "");
  EXPECT_EQ(symbols->problem(), "");
  EXPECT_EQ(outermost(*symbols, address_of(kFill)), kFillName);
  const auto main = address_of("main");
  std::vector<ElfAddress> addresses;
  for (std::uint64_t i = 0; i < 0x200; ++i) addresses.push_back({main.value + i});
  std::size_t deepest = 0;
  for (const auto& names : symbols->resolve(addresses)) deepest = std::max(deepest, names.size());
  EXPECT_GE(deepest, 3u);
}

// The same chains, with the same lines; names as the linker has them.
TEST(FileSymbols, PlacesAreThoseOfTheNames) {
  for (const char* file : {"dwarf4", "dwarf5"}) {
    SCOPED_TRACE(file);
    auto symbols = ModuleSymbols::open({.path = fixture(file)}, no_debug_directories());
    const auto main = address_of("main", file), fill = address_of(kFill, file);
    std::vector<ElfAddress> addresses;
    for (std::uint64_t i = 0; i < 0x200; ++i) addresses.push_back({std::min(main, fill).value + i});
    for (std::uint64_t i = 0; i < 0x40; ++i) addresses.push_back({std::max(main, fill).value + 0x200 + i});
    const auto names = symbols->resolve(addresses);
    const auto places = symbols->resolve_places(addresses);
    ASSERT_EQ(places.size(), names.size());
    std::size_t linked = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (places[i].empty()) continue;  // code of which only a symbol is known
      ASSERT_EQ(places[i].size(), names[i].size()) << i;
      for (std::size_t j = 0; j < names[i].size(); ++j) {
        EXPECT_EQ(places[i][j].line, names[i][j].line);
        if (!places[i][j].function.starts_with("_Z")) continue;
        EXPECT_EQ(demangle(places[i][j].function), names[i][j].function);
        EXPECT_NE(places[i][j].start_line, 0u) << places[i][j].function;
        ++linked;
      }
    }
    EXPECT_GT(linked, 100u);
    const std::vector<ElfAddress> one = {fill};
    EXPECT_THAT(symbols->resolve_places(one)[0].back().function, kFill);
    EXPECT_EQ(symbols->resolve_places(one)[0].back().start_line, 60u);
  }
}

TEST(FileSymbols, WithoutInlinesOnlyTheFunctionIsNamed) {
  auto options = no_debug_directories();
  options.inlines = false;
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5")}, options);
  const std::vector<ElfAddress> addresses = {address_of("main")};
  EXPECT_THAT(symbols->resolve(addresses)[0], ::testing::ElementsAre(Name{"main", "", 0}));
}

TEST(FileSymbols, AFunctionOfCIsCalledByItsBestSymbol) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5")}, no_debug_directories());
  EXPECT_EQ(outermost(*symbols, address_of("__plain_mix")), "plain_mix");
}

TEST(FileSymbols, AddressesInAnyOrderGiveTheSameNames) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5")}, no_debug_directories());
  const auto main = address_of("main"), fill = address_of(kFill);
  const std::vector<ElfAddress> addresses = {main, fill, main};
  const auto names = symbols->resolve(addresses);
  EXPECT_EQ(names[0].back().function, "main");
  EXPECT_EQ(names[1].back().function, kFillName);
  EXPECT_EQ(names[2], names[0]);
}

// If the cache knows all names, no lookup should wait until the DWARF of libc has been unpacked.
TEST(FileSymbols, NothingIsOpenedForNoAddress) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5")}, no_debug_directories());
  EXPECT_TRUE(symbols->resolve({}).empty());
  EXPECT_EQ(symbols->releasable_bytes(), 0u);
}

TEST(FileSymbols, ReleasedMemoryIsReadAgain) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5")}, no_debug_directories());
  EXPECT_EQ(symbols->releasable_bytes(), 0u);
  const std::vector<ElfAddress> addresses = {address_of("main")};
  const auto names = symbols->resolve(addresses);
  EXPECT_GT(symbols->releasable_bytes(), 0u);
  symbols->release_memory();
  EXPECT_EQ(symbols->releasable_bytes(), 0u);
  EXPECT_EQ(symbols->resolve(addresses), names);
}

TEST(FileSymbols, StrippedCodeIsNamedByTheBoundsOfItsFunctions) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5.stripped")}, no_debug_directories());
  const auto fill = address_of(kFill);
  char expected[64];
  std::snprintf(expected, sizeof expected, "dwarf5.stripped@fde+0x%llx",
                static_cast<unsigned long long>(fill.value));
  const std::string name = outermost(*symbols, fill);
  EXPECT_EQ(name.substr(0, name.find('#')), expected);
  EXPECT_EQ(name.size() - name.find('#'), 17u) << "the hash of its code: " << name;
  EXPECT_EQ(outermost(*symbols, {fill.value + 5}), name);
  EXPECT_NE(model::nameless_function(name)->code, 0u);
}

TEST(FileSymbols, NothingIsKnownOutsideOfCode) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5")}, no_debug_directories());
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x10}, ~std::uint64_t{0}})
    EXPECT_EQ(outermost(*symbols, {address}), "");
}

TEST(FileSymbols, AFileThatIsGoneOrNoFileCostsItsNamesOnly) {
  for (const char* path : {"/nonexistent", "/dev/null", "/", "/etc/passwd", ""}) {
    auto symbols = ModuleSymbols::open({.path = path}, no_debug_directories());
    EXPECT_EQ(symbols->source(), SymbolSource::kNone) << path;
    EXPECT_NE(symbols->problem(), "") << path;
    EXPECT_EQ(outermost(*symbols, {0x1000}), "") << path;
  }
}

TEST(FileSymbols, AFileThatWasReplacedMeanwhileIsNotBelieved) {
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5"), .identity = "0123456789abcdef"},
                                     no_debug_directories());
  EXPECT_EQ(symbols->source(), SymbolSource::kNone);
  EXPECT_THAT(symbols->problem(), ::testing::HasSubstr("no longer the file"));
}

// Lazy binding, immediate binding, and branch tracking with its second table: three layouts.
class Plt : public ::testing::TestWithParam<const char*> {};

TEST_P(Plt, EntriesHaveTheNameOfTheFunctionTheyGoTo) {
  auto symbols = ModuleSymbols::open({.path = fixture(GetParam())}, no_debug_directories());
  const auto file = elf::ModuleFile::open(fixture(GetParam()));
  std::vector<std::string> found;
  for (const char* name : {".plt", ".plt.sec", ".plt.got"})
    if (const auto* section = file->elf().section(name))
      for (std::uint64_t offset = 0; offset < section->size; offset += 8)
        found.push_back(outermost(*symbols, {section->address.value + offset}));
  EXPECT_THAT(found, ::testing::IsSupersetOf({"puts@plt", "getenv@plt", "__cxa_throw@plt"}));
  EXPECT_THAT(found, ::testing::Contains(::testing::StartsWith("operator delete(void*")));
  for (const auto& name : found) EXPECT_TRUE(name.empty() || name.ends_with("@plt")) << name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, Plt,
                         ::testing::Values("dwarf5", "branch_tracking", "no_build_id", "dwarf5.stripped"));

TEST(DebugFiles, ByDebugLinkNextToTheFile) {
  const Folder folder;
  const auto path = folder.copy("no_build_id.linked", "program");
  const auto debug = folder.copy("no_build_id.debug", "no_build_id.debug");
  auto symbols = ModuleSymbols::open({.path = path}, no_debug_directories());
  EXPECT_EQ(symbols->source(), SymbolSource::kDwarf);
  EXPECT_EQ(symbols->source_path(), debug);
  EXPECT_EQ(outermost(*symbols, address_of(kFill, "no_build_id")), kFillName);
}

TEST(DebugFiles, ByDebugLinkInTheDebugFolderAndUnderTheRootOfTheTarget) {
  const Folder folder;
  // The target sees its program as /srv/program; we see its root at folder/root.
  const auto path = folder.copy("no_build_id.linked", "root/srv/program");
  folder.copy("no_build_id.debug", "root/srv/.debug/no_build_id.debug");
  auto symbols = ModuleSymbols::open(
      {.path = "/srv/program", .open_path = path, .root = folder.path() + "/root"}, no_debug_directories());
  EXPECT_EQ(symbols->source_path(), "/srv/.debug/no_build_id.debug") << "as the target sees it";
}

TEST(DebugFiles, ADebugLinkToAFileWithAnotherChecksumIsNotFollowed) {
  const Folder folder;
  const auto path = folder.copy("no_build_id.linked", "program");
  const auto debug = folder.copy("no_build_id.debug", "no_build_id.debug");
  std::ofstream(debug, std::ios::app) << "x";
  auto symbols = ModuleSymbols::open({.path = path}, no_debug_directories());
  EXPECT_EQ(symbols->source_path(), "");
  EXPECT_NE(symbols->source(), SymbolSource::kDwarf);
}

TEST(DebugFiles, ByBuildIdInTheDebugDirectoryOfTheTargetsRoot) {
  const Folder folder;
  const auto elf = elf::ModuleFile::open(fixture("dwarf5"));
  const std::string id = elf->elf().build_id();
  ASSERT_EQ(id.size(), 40u);
  const auto debug =
      folder.copy("dwarf5.debug", "root/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
  auto options = no_debug_directories();
  options.debug_directories = {"/debug"};
  auto symbols =
      ModuleSymbols::open({.path = fixture("dwarf5.stripped"), .root = folder.path() + "/root"}, options);
  EXPECT_EQ(symbols->source(), SymbolSource::kDwarf);
  EXPECT_EQ(folder.path() + "/root" + symbols->source_path(), debug) << "as the target sees it";
  EXPECT_EQ(outermost(*symbols, address_of(kFill)), kFillName);
}

TEST(DebugFiles, AFileWithAnotherBuildIdUnderTheRightNameIsNotBelieved) {
  const Folder folder;
  const auto elf = elf::ModuleFile::open(fixture("dwarf5"));
  const std::string id = elf->elf().build_id();
  folder.copy("dwarf4", "debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
  auto options = no_debug_directories();
  options.debug_directories = {folder.path() + "/debug"};
  EXPECT_EQ(ModuleSymbols::open({.path = fixture("dwarf5.stripped")}, options)->source_path(), "");
}

TEST(DebugFiles, TheSymbolDirectoryGivesTheTwinByBuildIdUnderAnyName) {
  const Folder folder;
  folder.copy("dwarf4", "some/where/aaa");
  const auto twin = folder.copy("dwarf5", "some/where/else/release-build");
  auto options = no_debug_directories();
  options.symbol_directory = folder.path();
  auto symbols = ModuleSymbols::open({.path = fixture("dwarf5.stripped")}, options);
  EXPECT_EQ(symbols->source_path(), twin);
  EXPECT_EQ(outermost(*symbols, address_of(kFill)), kFillName);
}

TEST(DebugFiles, TheSymbolDirectoryMayBeTheTwinItself) {
  const Folder folder;
  folder.copy("dwarf4", "aaa");
  const auto twin = folder.copy("dwarf5", "release-build");
  auto options = no_debug_directories();
  options.symbol_directory = twin;
  EXPECT_EQ(ModuleSymbols::open({.path = fixture("dwarf5.stripped")}, options)->source_path(), twin);
  options.symbol_directory = folder.path() + "/aaa";
  EXPECT_EQ(ModuleSymbols::open({.path = fixture("dwarf5.stripped")}, options)->source_path(), "");
}

TEST(DebugFiles, WithoutBuildIdTheTwinIsFoundByTheSameCode) {
  const Folder folder;
  const auto twin = folder.copy("no_build_id", "unstripped");
  auto options = no_debug_directories();
  options.symbol_directory = folder.path();
  auto symbols = ModuleSymbols::open({.path = fixture("no_build_id.stripped")}, options);
  EXPECT_EQ(symbols->source_path(), twin);
  EXPECT_EQ(outermost(*symbols, address_of(kFill, "no_build_id")), kFillName);
}

TEST(DebugFiles, OneChangedByteOfCodeIsNoTwin) {
  const Folder folder;
  const auto twin = folder.copy("no_build_id", "unstripped");
  const auto file = elf::ModuleFile::open(twin);
  const auto text = file->elf().section(".text")->offset.value;
  std::fstream(twin, std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(text)).put('\x01');
  auto options = no_debug_directories();
  options.symbol_directory = folder.path();
  EXPECT_EQ(ModuleSymbols::open({.path = fixture("no_build_id.stripped")}, options)->source_path(), "");
}

TEST(DebugFiles, FilesThatAreNoElfAndLinksThatLoopAreSteppedOver) {
  const Folder folder;
  std::ofstream(folder.path() + "/README") << "text";
  fs::create_symlink(folder.path(), folder.path() + "/loop");
  ASSERT_EQ(::mkfifo((folder.path() + "/fifo").c_str(), 0600), 0);
  const auto twin = folder.copy("dwarf5", "twin");
  auto options = no_debug_directories();
  options.symbol_directory = folder.path();
  EXPECT_EQ(ModuleSymbols::open({.path = fixture("dwarf5.stripped")}, options)->source_path(), twin);
}

// Two static functions of one name; a linker's optimisation numbered them.
TEST(FileSymbols, StaticFunctionsThatACompilerNumberedStayApartWhereThereAreSeveral) {
  const Folder folder;
  const std::string path = folder.path() + "/numbered";
  ASSERT_TRUE(write_program(path, {"work.llvm.1", "work.llvm.2", "work.llvm.2.cold", "lone.lto_priv.0",
                                   "_ZL4morev.__uniq.7", "_ZL4morev"}));
  auto opened = ModuleSymbols::open({.path = path}, no_debug_directories());
  std::vector<std::string> found;
  for (std::uint64_t at = 0x1010; at <= 0x1060; at += 0x10) found.push_back(outermost(*opened, {at}));
  EXPECT_THAT(found,
              ::testing::ElementsAre("work [clone .llvm.1]", "work [clone .llvm.2]", "work [clone .llvm.2]",
                                     "lone", "more() [clone .__uniq.7]", "more()"));
}

TEST(FileSymbols, TheCrateOfARustProgramIsThatOfItsMain) {
  const Folder folder;
  const std::string rust = folder.path() + "/renamed", other = folder.path() + "/plain";
  ASSERT_TRUE(write_program(
      rust, {"_ZN5alloc3vec4push17h0123456789abcdefE", "_ZN7my_node4main17h0123456789abcdefE", "main"}));
  ASSERT_TRUE(write_program(other, {"_ZN7my_node4mainEv", "main"}));
  EXPECT_EQ(ModuleSymbols::open({.path = rust}, no_debug_directories())->main_crate(), "my_node");
  EXPECT_EQ(ModuleSymbols::open({.path = other}, no_debug_directories())->main_crate(), "");
}

TEST(Vdso, HasTheClock) {
  if (::getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "this kernel gives no vdso";
  auto symbols = ModuleSymbols::open({.kind = ModuleKind::kVdso, .path = "[vdso]"}, no_debug_directories());
  ASSERT_NE(symbols->source(), SymbolSource::kNone) << symbols->problem();
  bool clock = false;
  for (std::uint64_t address = 0; address < 0x4000 && !clock; address += 16)
    clock = outermost(*symbols, {address}).find("clock_gettime") != std::string::npos;
  EXPECT_TRUE(clock);
}

TEST(KernelSymbols, AnAddressBelongsToTheSymbolBeforeIt) {
  KernelSymbols symbols({{{0xffffffff81000000}, "_text", ""},
                         {{0xffffffff81000000}, "startup_64", ""},
                         {{0xffffffff81000100}, "__x64_sys_read", ""},
                         {{0xffffffff81000100}, "ksys_read_alias", ""},
                         {{0xffffffffc0000000}, "nft_do_chain", "nf_tables"}});
  EXPECT_EQ(symbols.source(), SymbolSource::kKallsyms);
  EXPECT_EQ(outermost(symbols, {0xffffffff80ffffff}), "");
  EXPECT_EQ(outermost(symbols, {0xffffffff810000ff}), "startup_64");
  EXPECT_EQ(outermost(symbols, {0xffffffff81000180}), "ksys_read_alias");
  EXPECT_EQ(outermost(symbols, {0xffffffffc0000010}), "nft_do_chain");
  EXPECT_EQ(outermost(symbols, {0xffffffffa0000000}), "") << "far from everything";
}

TEST(KernelSymbols, HiddenAddressesAreNoSymbols) {
  const KernelSymbols symbols{std::vector<process::KernelSymbol>()};
  EXPECT_EQ(symbols.source(), SymbolSource::kNone);
}

TEST(PerfMap, IsReadAgainWhenItHasGrown) {
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  std::ofstream(path) << "7f0000001000 100 jit_loop\n";
  auto symbols =
      ModuleSymbols::open({.kind = ModuleKind::kAnonymous, .pid = ::getpid()}, no_debug_directories());
  EXPECT_EQ(symbols->source(), SymbolSource::kPerfMap);
  EXPECT_EQ(outermost(*symbols, {0x7f0000001080}), "jit_loop");
  EXPECT_EQ(outermost(*symbols, {0x7f0000001100}), "");
  std::ofstream(path, std::ios::app) << "7f0000001100 20 _ZN3jit4callEv\n";
  EXPECT_EQ(outermost(*symbols, {0x7f0000001100}), "jit::call()");
  ::unlink(path.c_str());
  EXPECT_EQ(outermost(*symbols, {0x7f0000001080}), "jit_loop")
      << "its process may be gone, the name stays true";
}

TEST(PerfMap, AProcessWithoutOneHasNoNames) {
  auto symbols = ModuleSymbols::open({.kind = ModuleKind::kAnonymous, .pid = 1}, no_debug_directories());
  EXPECT_EQ(symbols->source(), SymbolSource::kNone);
  EXPECT_EQ(outermost(*symbols, {0x1000}), "");
}

TEST(HostileFile, EveryTruncationCostsNamesOnly) {
  const Folder folder;
  const auto whole = read_file(fixture("dwarf5"));
  const std::string path = folder.path() + "/cut";
  const auto main = address_of("main");
  for (std::size_t size = 0; size < whole->size(); size += whole->size() / 200) {
    ASSERT_TRUE(write_file(path, whole->substr(0, size)));
    auto symbols = ModuleSymbols::open({.path = path}, no_debug_directories());
    const auto name = outermost(*symbols, main);
    EXPECT_TRUE(name.empty() || name == "main" || name.starts_with("cut@fde+0x") || name.ends_with("@plt"))
        << name;
  }
}

}  // namespace
}  // namespace fathom::symbolize
