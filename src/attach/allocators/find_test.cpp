// Names become allocators: in libraries of the distribution, in programs made for this, and in files made by
// hand.
#include "attach/allocators/find.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "attach/allocators/runtime_arenas.h"
#include "attach/allocators/testing_libraries.h"
#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"

namespace fathom::allocators {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

elf::ModuleFile open(const std::string& path) {
  auto file = elf::ModuleFile::open(path);
  if (!file) throw std::runtime_error(file.error().message);
  return std::move(*file);
}

Found find_in(const std::string& path) {
  const auto file = open(path);
  return find(file.elf(), nullptr);
}

std::map<std::string, tracer_shape> shapes(const Allocator& allocator) {
  std::map<std::string, tracer_shape> all;
  for (const Function& each : allocator.functions) all.emplace(each.name, each.shape);
  return all;
}

std::vector<std::string> names(const Allocator& allocator) {
  std::vector<std::string> all;
  for (const Function& each : allocator.functions) all.push_back(each.name);
  return all;
}

const Function* named(const Allocator& allocator, std::string_view name) {
  for (const Function& each : allocator.functions)
    if (each.name == name) return &each;
  return nullptr;
}

// What holds for every allocator that is found.
void expect_sound(const elf::ElfFile& file, const Allocator& allocator) {
  for (std::size_t i = 0; i < allocator.functions.size(); ++i) {
    const Function& each = allocator.functions[i];
    if (i > 0) {
      EXPECT_LT(allocator.functions[i - 1].address, each.address) << each.name;
    }
    EXPECT_GT(each.size, 0U) << each.name;
    EXPECT_GE(code_of(file, each).size(), each.size) << each.name;
    EXPECT_EQ(each.partner.has_value(), tracer_throws(each.shape) != 0) << each.name;
  }
  for (std::size_t i = 0; i < allocator.own_code.size(); ++i) {
    EXPECT_LT(allocator.own_code[i].start, allocator.own_code[i].end);
    if (i > 0) {
      EXPECT_LT(allocator.own_code[i - 1].end, allocator.own_code[i].start);
    }
  }
}

Allocator only_one(const std::string& path) {
  const auto file = open(path);
  const Found found = find(file.elf(), nullptr);
  EXPECT_THAT(found.allocators, SizeIs(1)) << path;
  EXPECT_THAT(found.notes, IsEmpty()) << path;
  if (found.allocators.empty()) return {};
  expect_sound(file.elf(), found.allocators[0]);
  return found.allocators[0];
}

TEST(FindAllocators, GlibcHasTheWholeFamilyOnce) {
  FATHOM_NEEDS(testing::glibc(), "glibc");
  const Allocator glibc = only_one(*testing::glibc());
  EXPECT_EQ(glibc.kind, Kind::kLibc);
  EXPECT_THAT(glibc.label, HasSubstr("glibc 2."));
  // memalign is aligned_alloc, cfree is free, __libc_malloc is malloc: the same addresses.
  EXPECT_THAT(shapes(glibc),
              IsSupersetOf({Pair("malloc", TRACER_MALLOC), Pair("calloc", TRACER_CALLOC),
                            Pair("realloc", TRACER_REALLOC), Pair("free", TRACER_FREE),
                            Pair("posix_memalign", TRACER_POSIX), Pair("aligned_alloc", TRACER_ALIGNED),
                            Pair("valloc", TRACER_MALLOC), Pair("pvalloc", TRACER_MALLOC),
                            Pair("reallocarray", TRACER_REALLOCARRAY)}));
  EXPECT_THAT(names(glibc), Not(Contains(HasSubstr("__libc"))));
}

TEST(FindAllocators, MuslIsFoundInItsLibrary) {
  FATHOM_NEEDS(testing::musl(), "musl");
  const Allocator musl = only_one(*testing::musl());
  EXPECT_EQ(musl.kind, Kind::kLibc);
  EXPECT_EQ(musl.label, "musl");
  EXPECT_THAT(names(musl), IsSupersetOf({"malloc", "calloc", "realloc", "free", "posix_memalign",
                                         "aligned_alloc", "memalign", "valloc", "reallocarray"}));
}

TEST(FindAllocators, JemallocsLibraryHasItsFlagsAndItsOperators) {
  FATHOM_NEEDS(testing::libjemalloc(), "libjemalloc");
  const Allocator jemalloc = only_one(*testing::libjemalloc());
  EXPECT_EQ(jemalloc.kind, Kind::kJemalloc);
  EXPECT_THAT(jemalloc.label, HasSubstr("jemalloc 5."));
  EXPECT_EQ(jemalloc.prefix, "");
  EXPECT_THAT(shapes(jemalloc),
              IsSupersetOf({Pair("malloc", TRACER_MALLOC), Pair("mallocx", TRACER_MALLOC),
                            Pair("rallocx", TRACER_REALLOC), Pair("xallocx", TRACER_XALLOCX),
                            Pair("dallocx", TRACER_FREE), Pair("sdallocx", TRACER_FREE_SIZED),
                            Pair("_Znwm", TRACER_NEW), Pair("_ZnwmRKSt9nothrow_t", TRACER_MALLOC),
                            Pair("_ZdlPvm", TRACER_FREE_SIZED)}));
  // They hand the block on to one that is there: through the procedure linkage table, or with a size.
  EXPECT_THAT(names(jemalloc), Not(Contains("_ZdlPv")));
  EXPECT_THAT(names(jemalloc), Not(Contains("_ZdlPvmSt11align_val_t")));
  // They only ask.
  EXPECT_THAT(names(jemalloc), Not(Contains("sallocx")));
  EXPECT_THAT(names(jemalloc), Not(Contains("nallocx")));
  EXPECT_THAT(names(jemalloc), Not(Contains("malloc_usable_size")));
  EXPECT_EQ(named(jemalloc, "_Znwm")->partner, named(jemalloc, "_ZnwmRKSt9nothrow_t")->address);
}

TEST(FindAllocators, MimallocsLibraryHasItsOwnNamesAndTheCommonOnes) {
  FATHOM_NEEDS(testing::libmimalloc(), "libmimalloc");
  const Allocator mimalloc = only_one(*testing::libmimalloc());
  EXPECT_EQ(mimalloc.kind, Kind::kMimalloc);
  EXPECT_THAT(mimalloc.label, ::testing::MatchesRegex("mimalloc [23]\\.[0-9]\\.[0-9]+"));
  EXPECT_THAT(shapes(mimalloc),
              IsSupersetOf({Pair("malloc", TRACER_MALLOC), Pair("free", TRACER_FREE),
                            Pair("mi_zalloc", TRACER_MALLOC), Pair("mi_malloc_aligned", TRACER_MALLOC),
                            Pair("mi_mallocn", TRACER_CALLOC), Pair("mi_aligned_alloc", TRACER_ALIGNED),
                            Pair("mi_posix_memalign", TRACER_POSIX), Pair("mi_rezalloc", TRACER_REALLOC),
                            Pair("mi_recalloc", TRACER_REALLOCARRAY), Pair("_Znwm", TRACER_NEW),
                            Pair("_ZnwmSt11align_val_t", TRACER_NEW)}));
  // Those of heaps have the heap before all else.
  EXPECT_THAT(shapes(mimalloc),
              IsSupersetOf({Pair("mi_heap_malloc", TRACER_ALIGNED), Pair("mi_heap_calloc", TRACER_CALLOC_IN),
                            Pair("mi_heap_realloc", TRACER_REALLOC_IN),
                            Pair("mi_heap_recalloc", TRACER_REALLOCARRAY_IN),
                            Pair("mi_new_n", TRACER_NEW_ARRAY), Pair("mi_heap_alloc_new", TRACER_NEW_IN),
                            Pair("mi_heap_alloc_new_n", TRACER_NEW_ARRAY_IN)}));
  EXPECT_EQ(named(mimalloc, "mi_new_n")->partner, named(mimalloc, "mi_mallocn")->address);
  // Who gives blocks of its own, and who gives those of another one.
  for (const char* name : {"malloc", "calloc", "mi_heap_malloc", "mi_heap_realloc", "mi_heap_malloc_small",
                           "mi_heap_malloc_aligned_at", "mi_new_n", "_Znwm"})
    EXPECT_THAT(named(mimalloc, name)->ends_in, IsEmpty()) << name;
  EXPECT_THAT(named(mimalloc, "realloc")->ends_in, ElementsAre(named(mimalloc, "mi_heap_realloc")->address));
  EXPECT_THAT(named(mimalloc, "mi_malloc_aligned")->ends_in,
              ElementsAre(named(mimalloc, "mi_heap_malloc_aligned")->address));
  EXPECT_THAT(named(mimalloc, "mi_posix_memalign")->ends_in,
              ElementsAre(named(mimalloc, "mi_malloc_aligned")->address));
  EXPECT_THAT(named(mimalloc, "mi_new_aligned_nothrow")->ends_in,
              ElementsAre(named(mimalloc, "mi_malloc_aligned")->address));
  EXPECT_THAT(named(mimalloc, "pvalloc")->ends_in, ElementsAre(named(mimalloc, "mi_pvalloc")->address));
  // It frees by mi_free, but only it knows the size; those that know no more are left out.
  EXPECT_THAT(shapes(mimalloc), Contains(Pair("_ZdlPvm", TRACER_FREE_SIZED)));
  EXPECT_THAT(names(mimalloc), Not(Contains("mi_free_aligned")));
  EXPECT_THAT(names(mimalloc), Not(Contains("mi_free_size_aligned")));
  // The common name of one address is the one that is shown, and inner names are no functions.
  EXPECT_THAT(names(mimalloc), Not(Contains("mi_malloc")));
  EXPECT_THAT(names(mimalloc), Not(Contains(::testing::StartsWith("_mi_"))));
}

TEST(FindAllocators, TcmallocsLibraryIsHookedAtItsOperatorsToo) {
  FATHOM_NEEDS(testing::libtcmalloc(), "libtcmalloc_minimal");
  const Allocator tcmalloc = only_one(*testing::libtcmalloc());
  EXPECT_EQ(tcmalloc.kind, Kind::kTcmalloc);
  EXPECT_THAT(tcmalloc.label, HasSubstr("tcmalloc 2."));
  EXPECT_THAT(
      shapes(tcmalloc),
      IsSupersetOf({Pair("malloc", TRACER_MALLOC), Pair("free", TRACER_FREE), Pair("_Znwm", TRACER_NEW),
                    Pair("_ZnwmSt11align_val_t", TRACER_NEW), Pair("_ZdlPvm", TRACER_FREE_SIZED),
                    Pair("tc_malloc_skip_new_handler", TRACER_MALLOC)}));
  EXPECT_THAT(names(tcmalloc), Not(Contains("tc_malloc")));
}

TEST(FindAllocators, OperatorsDeleteOfTheCxxLibraryHaveNoAllocatorAndTakeSizes) {
  const auto library = testing::libstdcxx();
  FATHOM_NEEDS(library, "libstdc++");
  const Found found = find_in(*library);
  EXPECT_THAT(found.allocators, IsEmpty());
  std::vector<std::string> all;
  for (const Function& each : found.sized_deletes) {
    all.push_back(each.name);
    EXPECT_EQ(each.shape, TRACER_FREE_SIZED);
  }
  EXPECT_THAT(all,
              UnorderedElementsAre("_ZdlPvm", "_ZdaPvm", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t"));
  FATHOM_NEEDS(testing::libtcmalloc(), "libtcmalloc_minimal");
  EXPECT_THAT(find_in(*testing::libtcmalloc()).sized_deletes, IsEmpty()) << "they are its own";
}

TEST(FindAllocators, AnvilHasSixFunctionsWithTheRustPrefix) {
  FATHOM_NEEDS(testing::anvil(), "anvil, named by ANVIL");
  const Allocator jemalloc = only_one(*testing::anvil());
  EXPECT_THAT(jemalloc.label, ::testing::MatchesRegex("jemalloc 5\\.[0-9]+\\.[0-9]+ \\(_rjem_\\)"));
  EXPECT_EQ(jemalloc.prefix, "_rjem_");
  EXPECT_THAT(
      shapes(jemalloc),
      UnorderedElementsAre(Pair("_rjem_malloc", TRACER_MALLOC), Pair("_rjem_calloc", TRACER_CALLOC),
                           Pair("_rjem_realloc", TRACER_REALLOC), Pair("_rjem_mallocx", TRACER_MALLOC),
                           Pair("_rjem_rallocx", TRACER_REALLOC), Pair("_rjem_sdallocx", TRACER_FREE_SIZED)));
}

// In a static-pie program the linker makes malloc local, because no other module can bind to it.
TEST(FindAllocators, StaticProgramsHoldTheirLibc) {
  for (const char* path : {STATIC_PROGRAM, STATIC_PIE_PROGRAM}) {
    const Allocator glibc = only_one(path);
    EXPECT_THAT(glibc.label, HasSubstr("glibc")) << path;
    EXPECT_THAT(names(glibc), IsSupersetOf({"malloc", "calloc", "realloc", "free", "posix_memalign",
                                            "aligned_alloc", "valloc", "reallocarray"}))
        << path;
  }
}

TEST(FindAllocators, StaticMuslProgramsHoldTheirLibc) {
#ifdef MUSL_PROGRAM
  const Allocator musl = only_one(MUSL_PROGRAM);
  EXPECT_EQ(musl.label, "musl");
  EXPECT_THAT(names(musl), IsSupersetOf({"malloc", "calloc", "realloc", "__libc_free", "posix_memalign",
                                         "aligned_alloc", "memalign", "valloc", "reallocarray"}));
  EXPECT_THAT(names(musl), Not(Contains("free"))) << "it ends in __libc_free";
#else
  GTEST_SKIP() << "needs musl-gcc when it is built";
#endif
}

TEST(FindAllocators, AnyPrefixIsFoundByTheOtherNamesThatHaveIt) {
  const auto file = open(PREFIXED_PROGRAM);
  const Found found = find(file.elf(), nullptr);
  ASSERT_THAT(found.allocators, SizeIs(1));
  const Allocator& jemalloc = found.allocators[0];
  expect_sound(file.elf(), jemalloc);
  EXPECT_EQ(jemalloc.label, "jemalloc (try_)");
  EXPECT_THAT(names(jemalloc),
              UnorderedElementsAre("try_malloc", "try_mallocx", "try_realloc", "try_sdallocx"));
}

TEST(FindAllocators, WhatOnlyLooksLikeAnAllocatorIsNone) {
  const Found found = find_in(LOOKALIKES_PROGRAM);
  EXPECT_THAT(found.allocators, IsEmpty());
  EXPECT_THAT(found.notes, IsEmpty());
}

// Its blocks are not traceable calls, and its arenas belong to an allocator.
TEST(FindAllocators, ARuntimesOwnArenasAreNamedWithTheSettingThatShowsThrough) {
  const Found found = find_in(PYTHON_NAMES_LIBRARY);
  EXPECT_THAT(found.allocators, IsEmpty());
  ASSERT_THAT(found.unseen, SizeIs(1));
  EXPECT_EQ(text_of(found.unseen[0]),
            "pymalloc is not traced: Python hands out objects of up to 512 bytes from arenas that it maps by "
            "itself "
            "(PYTHONMALLOC=malloc in the program's environment shows each of them)");
  EXPECT_THAT(found.unseen[0].shown_by, Contains("PYTHONMALLOC=malloc"));
}

bool ignores(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += argument + '\0';
  return python_ignores_environment(text);
}

TEST(RuntimeArenas, PythonMayIgnoreItsVariables) {
  EXPECT_TRUE(ignores({"python3", "-E", "app.py"}));
  EXPECT_TRUE(ignores({"python3", "-I", "-c", "pass"}));
  EXPECT_TRUE(ignores({"python3", "-sBI"}));
  EXPECT_TRUE(ignores({"python3", "-W", "ignore", "-X", "dev", "-E", "app.py"}));
  EXPECT_TRUE(ignores({"python3", "--check-hash-based-pycs", "never", "-E"}));
  EXPECT_FALSE(ignores({"python3", "app.py", "-E"})) << "the script's";
  EXPECT_FALSE(ignores({"python3", "-m", "http.server", "-I"}));
  EXPECT_FALSE(ignores({"python3", "-c", "-E"}));
  EXPECT_FALSE(ignores({"python3", "-WError", "app.py"})) << "a value";
  EXPECT_FALSE(ignores({"python3", "-W", "-E", "app.py"}));
  EXPECT_FALSE(ignores({"python3", "-", "-E"}));
  EXPECT_FALSE(ignores({"python3", "--", "-E"}));
  EXPECT_FALSE(ignores({"-E"})) << "its name";
  EXPECT_FALSE(ignores({}));
}

TEST(RuntimeArenas, AreSaidToBeOffAndNotKnownToBe) {
  const Found found = find_in(PYTHON_NAMES_LIBRARY);
  ASSERT_THAT(found.unseen, SizeIs(1));
  const auto has = [](const std::string& setting) { return setting == "PYTHONMALLOC=malloc"; };
  using namespace std::string_view_literals;
  EXPECT_EQ(said_to_be_off(found.unseen[0], has, "python3\0app.py\0"sv),
            "pymalloc is switched off by PYTHONMALLOC=malloc in its environment");
  EXPECT_EQ(said_to_be_off(found.unseen[0], has, "python3\0-E\0app.py\0"sv), std::nullopt);
  EXPECT_EQ(said_to_be_off(
                found.unseen[0], [](const std::string&) { return false; }, ""),
            std::nullopt);
}

TEST(FindAllocators, HeapsOfOtherRuntimesAreNamedWithTheToolThatShowsThem) {
  for (const auto& [path, label, tool] :
       {std::tuple(JAVA_NAMES_LIBRARY, "the Java heap is not traced: ", "jcmd PID GC.class_histogram"),
        std::tuple(V8_NAMES_LIBRARY, "V8's heap is not traced: ", "node --heap-prof"),
        std::tuple(GO_NAMES_LIBRARY, "Go's heap is not traced: ", "runtime/pprof")}) {
    const Found found = find_in(path);
    EXPECT_THAT(found.allocators, IsEmpty()) << path;
    ASSERT_THAT(found.unseen, SizeIs(1)) << path;
    EXPECT_THAT(text_of(found.unseen[0]), HasSubstr(label));
    EXPECT_THAT(text_of(found.unseen[0]), HasSubstr(tool));
    EXPECT_THAT(found.unseen[0].shown_by, IsEmpty()) << "no setting makes its blocks calls of malloc";
  }
}

TEST(FindAllocators, LibstdcxxsOperatorsEndInMallocAndAreNoAllocator) {
  const auto path =
      testing::first_of({"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6"});
  FATHOM_NEEDS(path, "libstdc++");
  EXPECT_THAT(find_in(*path).allocators, IsEmpty());
}

TEST(FindAllocators, AnInterposedMallocIsNamedAfterItsFileAndAnIfuncIsNoted) {
  const Found found = find_in(INTERPOSER_LIBRARY);
  ASSERT_THAT(found.allocators, SizeIs(1));
  EXPECT_EQ(found.allocators[0].kind, Kind::kOther);
  EXPECT_THAT(found.allocators[0].label, HasSubstr("malloc of liballocators_interposer.so"));
  EXPECT_THAT(names(found.allocators[0]), UnorderedElementsAre("malloc", "free"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("calloc is chosen at load time (IFUNC)")));
}

TEST(FindAllocators, TheDynamicLoadersOwnMallocIsNotTraced) {
  const auto path = testing::first_of({"/lib64/ld-linux-x86-64.so.2"});
  FATHOM_NEEDS(path, "glibc's dynamic loader");
  EXPECT_THAT(find_in(*path).allocators, IsEmpty());
}

TEST(FindAllocators, AStrippedProgramIsReadWithItsTwinOrDebugFile) {
  const auto stripped = open(STRIPPED_PROGRAM), twin = open(PREFIXED_PROGRAM), debug = open(DEBUG_FILE),
             other = open(STATIC_PROGRAM);
  EXPECT_THAT(find(stripped.elf(), nullptr).allocators, IsEmpty());
  const auto expected = find(twin.elf(), nullptr).allocators.at(0);
  for (const elf::ElfFile* each : {&twin.elf(), &debug.elf()}) {
    const Found found = find(stripped.elf(), each);
    ASSERT_THAT(found.allocators, SizeIs(1));
    EXPECT_EQ(names(found.allocators[0]), names(expected));
    EXPECT_EQ(found.allocators[0].functions[0].address, expected.functions[0].address);
    EXPECT_EQ(found.allocators[0].own_code, expected.own_code);
    EXPECT_THAT(found.notes, IsEmpty());
  }
  // Symbols of another build would put the hooks anywhere.
  const Found found = find(stripped.elf(), &other.elf());
  EXPECT_THAT(found.allocators, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("is not of the same build and was not used")));
}

// The library's functions are exported where shared libraries could want them. Another one that frees may be there.
TEST(FindAllocators, AStrippedProgramWithAnAllocatorOfItsOwnIsNotTracedByHalves) {
  const Found whole = find_in(EXPORTING_PROGRAM);
  ASSERT_THAT(whole.allocators, SizeIs(1));
  EXPECT_THAT(names(whole.allocators[0]), IsSupersetOf({"malloc", "free"}));
  EXPECT_THAT(whole.unseen, IsEmpty());

  const Found stripped = find_in(STRIPPED_EXPORTING_PROGRAM);
  EXPECT_THAT(stripped.allocators, IsEmpty());
  ASSERT_THAT(stripped.unseen, SizeIs(1));
  EXPECT_THAT(text_of(stripped.unseen[0]),
              HasSubstr("malloc of allocators_stripped_exporting is not traced: the file is stripped"));
  EXPECT_THAT(stripped.unseen[0].remedy, HasSubstr("--symbols DIR"));

  const auto file = open(STRIPPED_EXPORTING_PROGRAM), twin = open(EXPORTING_PROGRAM);
  const Found named = find(file.elf(), &twin.elf());
  EXPECT_THAT(named.allocators, SizeIs(1)) << "with the names that were stripped off it is known";
  EXPECT_THAT(named.unseen, IsEmpty());
}

TEST(FindAllocators, AStrippedJemallocLacksTheFunctionsUsedOnlyInside) {
  const Found found = find_in(STRIPPED_JEMALLOC_PROGRAM);
  EXPECT_THAT(found.allocators, IsEmpty());
  ASSERT_THAT(found.unseen, SizeIs(1));
  EXPECT_EQ(found.unseen[0].kind, Kind::kJemalloc);
  EXPECT_THAT(text_of(found.unseen[0]), HasSubstr("has no name here even if it exists"));
}

// A file with two segments, code and constants, and no symbols but those given.
class HandMadeNames {
 public:
  HandMadeNames() {
    code_ = builder_.blob(elf::testing::Bytes(0x1000, std::byte{0x90}));
    builder_.segment(PT_LOAD, PF_R | PF_X, 0x1000, code_);
  }
  void constants(std::string_view text) {
    elf::testing::Bytes bytes;
    elf::testing::put_text(bytes, text);
    bytes.resize(bytes.size() + 64);
    const auto blob = builder_.blob(bytes);
    builder_.segment(PT_LOAD, PF_R, 0x4000, blob);
    builder_.section(".rodata", SHT_PROGBITS, SHF_ALLOC, 0x4000, blob);
  }
  struct Name {
    std::string name;
    std::uint64_t address, size = 16;
    std::uint8_t type = STT_FUNC, binding = STB_GLOBAL;
  };
  Found find(const std::vector<Name>& symbols, std::string name = "program") {
    elf::testing::Bytes entries(sizeof(Elf64_Sym)), names(1);
    for (const Name& each : symbols) {
      elf::testing::put(entries, Elf64_Sym{static_cast<Elf64_Word>(names.size()),
                                           static_cast<unsigned char>(each.binding << 4 | each.type), 0,
                                           static_cast<Elf64_Half>(each.address == 0 ? SHN_UNDEF : 1),
                                           each.address, each.size});
      elf::testing::put_text(names, each.name);
      names.push_back({});
    }
    if (!symbols.empty()) {
      const auto entries_blob = builder_.blob(entries), names_blob = builder_.blob(names);
      builder_.section(".strtab", SHT_STRTAB, 0, 0, names_blob);
      builder_.section(".symtab", SHT_SYMTAB, 0, 0, entries_blob, sections_ + 1, sizeof(Elf64_Sym));
    }
    bytes_ = builder_.build();
    const auto file = elf::ElfFile::parse(bytes_, std::move(name));
    EXPECT_TRUE(file);
    return allocators::find(*file, nullptr);
  }
  void has_rodata() { sections_ = 1; }

 private:
  elf::testing::ElfBuilder builder_;
  elf::testing::Bytes bytes_;
  std::size_t code_;
  std::uint32_t sections_ = 0;
};

TEST(FindAllocators, AnUnnamedJemallocIsNotedWithTheRemedy) {
  HandMadeNames file;
  file.constants(std::string("<jem") + "alloc>: %s: %.*s:%.*s\n");
  const Found found = file.find({}, "/opt/node");
  EXPECT_THAT(found.allocators, IsEmpty());
  ASSERT_THAT(found.unseen, SizeIs(1));
  EXPECT_THAT(text_of(found.unseen[0]),
              HasSubstr("jemalloc is not traced: its functions have no names here"));
  EXPECT_THAT(text_of(found.unseen[0]), HasSubstr("--symbols"));
}

TEST(FindAllocators, AnUnnamedMimallocIsNotedAndAJemallocNextToItIsStillFound) {
  HandMadeNames file;
  file.constants(std::string("mimal") + "loc: error: ");
  file.has_rodata();
  const Found found = file.find({{"je_malloc", 0x1000}, {"je_mallocx", 0x1010}, {"je_dallocx", 0x1020}});
  ASSERT_THAT(found.allocators, SizeIs(1));
  EXPECT_EQ(found.allocators[0].label, "jemalloc (je_)");
  ASSERT_THAT(found.unseen, SizeIs(1));
  EXPECT_THAT(found.unseen[0].label, HasSubstr("mimalloc"));
}

TEST(FindAllocators, FunctionsOfOthersThatEndInOneAnotherSayIn) {
  FATHOM_NEEDS(testing::musl(), "musl");
  const Allocator musl = only_one(*testing::musl());
  EXPECT_THAT(named(musl, "calloc")->ends_in, ElementsAre(named(musl, "malloc")->address));
  EXPECT_THAT(named(musl, "posix_memalign")->ends_in, ElementsAre(named(musl, "aligned_alloc")->address));
  EXPECT_THAT(named(musl, "malloc")->ends_in, IsEmpty());
  EXPECT_THAT(named(musl, "aligned_alloc")->ends_in, IsEmpty()) << "the block of its malloc is a larger one";
  FATHOM_NEEDS(testing::libjemalloc(), "libjemalloc");
  const Allocator jemalloc = only_one(*testing::libjemalloc());
  EXPECT_THAT(named(jemalloc, "_ZnwmSt11align_val_t")->ends_in,
              ElementsAre(named(jemalloc, "aligned_alloc")->address));
  EXPECT_THAT(named(jemalloc, "_Znwm")->ends_in, IsEmpty());
  EXPECT_THAT(named(jemalloc, "malloc")->ends_in, IsEmpty());
  FATHOM_NEEDS(testing::glibc(), "glibc");
  const Allocator glibc = only_one(*testing::glibc());
  EXPECT_THAT(named(glibc, "reallocarray")->ends_in, ElementsAre(named(glibc, "realloc")->address));
  for (const char* name : {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"})
    EXPECT_THAT(named(glibc, name)->ends_in, IsEmpty()) << name;
}

TEST(FindAllocators, WhoEndsWholeHeapsIsNoted) {
  HandMadeNames file;
  const Found found = file.find({{"main", 0x1000}, {"mi_heap_destroy", 0}}, "/opt/server");
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("/opt/server ends heaps with mi_heap_destroy")));
}

TEST(FindAllocators, JemallocsVersionIsReadFromItsOwnString) {
  HandMadeNames file;
  const std::string text(
      "x-g\0"
      "5.3.0-12-ge13ca993e8ccb9ba9847cc330696e02839f328f7\0",
      55);
  file.constants(text);
  file.has_rodata();
  const Found found = file.find({{"je_malloc", 0x1000}, {"je_mallocx", 0x1010}, {"je_dallocx", 0x1020}});
  ASSERT_THAT(found.allocators, SizeIs(1));
  EXPECT_EQ(found.allocators[0].label, "jemalloc 5.3.0 (je_)");
}

TEST(FindAllocators, ImportsAreNoFunctionsOfTheFile) {
  HandMadeNames file;
  const Found found = file.find({{"malloc", 0}, {"free", 0}, {"sdallocx", 0}, {"mallocx", 0}});
  EXPECT_THAT(found.allocators, IsEmpty());
}

TEST(FindAllocators, AnAddressOutsideOfTheCodeIsNoFunction) {
  HandMadeNames file;
  const Found found = file.find({{"je_malloc", 0x9000}, {"je_mallocx", 0x1010}, {"je_dallocx", 0x1020}});
  EXPECT_THAT(found.allocators, IsEmpty());
}

TEST(FindAllocators, ALocalNameOfTwoFunctionsNamesNone) {
  HandMadeNames file;
  const Found found = file.find({{"__libc_start_main", 0x1000},
                                 {"malloc", 0x1010, 16, STT_FUNC, STB_LOCAL},
                                 {"free", 0x1020},
                                 {"calloc", 0x1030, 16, STT_FUNC, STB_LOCAL},
                                 {"calloc", 0x1040, 16, STT_FUNC, STB_LOCAL}});
  ASSERT_THAT(found.allocators, SizeIs(1));
  EXPECT_THAT(names(found.allocators[0]), ElementsAre("malloc", "free"));
}

TEST(FindAllocators, OfWhichNoFunctionThatFreesIsKnownIsNotTraced) {
  HandMadeNames file;
  const Found found = file.find({{"je_malloc", 0x1000}, {"je_mallocx", 0x1010}, {"je_mallctl", 0x1020}});
  EXPECT_THAT(found.allocators, IsEmpty());
  ASSERT_THAT(found.unseen, SizeIs(1));
  EXPECT_THAT(text_of(found.unseen[0]), HasSubstr("jemalloc (je_) is not traced: no function that frees"));
}

TEST(FindAllocators, OfWhichAFunctionThatFreesIsChosenAtLoadTimeIsNotTraced) {
  HandMadeNames file;
  const Found found = file.find({{"je_malloc", 0x1000},
                                 {"je_mallocx", 0x1010},
                                 {"je_dallocx", 0x1020, 16, STT_GNU_IFUNC},
                                 {"je_free", 0x1030}});
  EXPECT_THAT(found.allocators, IsEmpty());
  ASSERT_THAT(found.unseen, SizeIs(1));
  EXPECT_THAT(text_of(found.unseen[0]), HasSubstr("je_dallocx is chosen at load time (IFUNC)"));
}

TEST(FindAllocators, OneNameFewerIsBetterThanAThrowThroughTheTracer) {
  HandMadeNames file;
  const Found found =
      file.find({{"mi_malloc", 0x1000}, {"mi_free", 0x1010}, {"mi_new", 0x1020}, {"mi_new_aligned", 0x1030}});
  ASSERT_THAT(found.allocators, SizeIs(1));
  EXPECT_EQ(found.allocators[0].prefix, "mi_");
  EXPECT_THAT(names(found.allocators[0]), ElementsAre("mi_malloc", "mi_free", "mi_new"));
  EXPECT_EQ(found.allocators[0].functions[2].partner, ElfAddress{0x1000});
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("mi_new_aligned is not traced: it may throw")));
}

TEST(FindAllocators, AFunctionWithoutASizeReachesToTheNextOne) {
  HandMadeNames file;
  const Found found = file.find(
      {{"je_malloc", 0x1000, 0}, {"other", 0x1050}, {"je_mallocx", 0x1100}, {"je_dallocx", 0x1200}});
  ASSERT_THAT(found.allocators, SizeIs(1));
  EXPECT_EQ(found.allocators[0].functions[0].size, 0x50U);
}

// je_ functions around a static one: its calls are jemalloc's. A foreign one in between ends that.
TEST(FindAllocators, StaticFunctionsAmongAnAllocatorsFunctionsAreItsOwn) {
  const auto local = [](const char* name, std::uint64_t address) {
    return HandMadeNames::Name{name, address, 16, STT_FUNC, STB_LOCAL};
  };
  HandMadeNames file;
  const Found found = file.find({{"je_malloc", 0x1000},
                                 local("do_rallocx", 0x1010),
                                 {"je_mallocx", 0x1020},
                                 local("helper_of_main", 0x1030),
                                 {"main", 0x1040},
                                 local("other_helper", 0x1050),
                                 {"je_dallocx", 0x1060},
                                 local("behind", 0x1070)});
  ASSERT_THAT(found.allocators, SizeIs(1));
  EXPECT_THAT(found.allocators[0].own_code,
              ElementsAre(CodeRange{{0x1000}, {0x1030}}, CodeRange{{0x1060}, {0x1070}}));
}

TEST(FindAllocators, AStrippedStaticProgramIsNoted) {
  const auto stripped = open(STRIPPED_STATIC_PROGRAM);
  const Found found = find(stripped.elf(), nullptr);
  EXPECT_THAT(found.allocators, IsEmpty());
  ASSERT_THAT(found.unseen, SizeIs(1));
  EXPECT_THAT(found.unseen[0].why, HasSubstr("the program is static and stripped"));
}

}  // namespace
}  // namespace fathom::allocators
