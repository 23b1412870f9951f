#include "binary/symbolize/demangle.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace fathom::symbolize {
namespace {

struct Case {
  const char* mangled;
  const char* name;
};

class Demangle : public ::testing::TestWithParam<Case> {};

TEST_P(Demangle, GivesTheNameOfTheSource) {
  EXPECT_EQ(demangle(GetParam().mangled), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(
    Cxx, Demangle,
    ::testing::Values(Case{"_Z4mainv", "main()"}, Case{"_ZN3foo3barEi", "foo::bar(int)"},
                      Case{"_ZNSt6vectorIiSaIiEE9push_backERKi",
                           "std::vector<int, std::allocator<int> >::push_back(int const&)"},
                      Case{"_ZNK4leti5State3getIjEET_v",
                           "unsigned int leti::State::get<unsigned int>() const"},
                      Case{"_ZN12_GLOBAL__N_15helloEv", "(anonymous namespace)::hello()"},
                      Case{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
                      Case{"_ZltRK1AS1_", "operator<(A const&, A const&)"}, Case{"_ZN1AC2Ev", "A::A()"},
                      Case{"_ZN1AD0Ev", "A::~A()"}, Case{"_ZTV1A", "vtable for A"},
                      Case{"_ZGVZ4mainvE1x", "guard variable for main()::x"},
                      Case{"_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"},
                      Case{"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
                           "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
                           ">::append(char const*)"}));

INSTANTIATE_TEST_SUITE_P(
    RustLegacy, Demangle,
    ::testing::Values(Case{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
                      Case{"_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
                           "4drop17h2b5ac2bb2a1f5ac1E",
                           "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop"},
                      Case{"_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.1234567890123456789",
                           "core::ptr::drop_in_place"},
                      Case{"_ZN5tokio7runtime4task3raw4poll17hfedcba9876543210E",
                           "tokio::runtime::task::raw::poll"},
                      Case{"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h5b8f0f6c9a4e1d23E",
                           "std::rt::lang_start::{{closure}}"},
                      // Sixteen hex digits that are all alike are no hash: a C++ name.
                      Case{"_ZN3foo17h0000000000000000E", "foo::h0000000000000000"}));

INSTANTIATE_TEST_SUITE_P(RustV0, Demangle,
                         ::testing::Values(Case{"_RNvC6_123foo3bar", "123foo::bar"},
                                           Case{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
                                           Case{"_RNCNvC7mycrate4main0B3_", "mycrate::main::{closure#0}"},
                                           Case{"_RNvMs0_NtCs1234_7mycrate3FooNtB5_3Bar3baz",
                                                "<mycrate::Foo::Bar>::baz"},
                                           Case{"_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
                                                "std::mem::align_of::<std::mem::Discriminant>"},
                                           Case{"_RNvXs_C7mycrateNtB4_3FooNtNtC4core3fmt5Debug3fmt",
                                                "<mycrate::Foo as core::fmt::Debug>::fmt"},
                                           Case{"_RNvC7mycrate3foo.llvm.9876", "mycrate::foo"}));

INSTANTIATE_TEST_SUITE_P(
    Suffixes, Demangle,
    ::testing::Values(Case{"_Z3foov.cold", "foo()"}, Case{"_Z3foov.isra.0", "foo()"},
                      Case{"_Z3foov.constprop.0.isra.0", "foo()"}, Case{"_Z3foov.isra.0.cold", "foo()"},
                      Case{"_Z3foov.lto_priv.12", "foo()"}, Case{"_Z3foov.part.0", "foo() [clone .part.0]"},
                      Case{"_Z3foov.part.0.cold", "foo() [clone .part.0]"},
                      Case{"_Z3foov.actor", "foo() [clone .actor]"}, Case{"read_block.isra.3", "read_block"},
                      Case{"read_block.part.0", "read_block.part.0"}, Case{"serve.cold", "serve"}));

INSTANTIATE_TEST_SUITE_P(NotMangled, Demangle,
                         ::testing::Values(Case{"", ""}, Case{"main", "main"}, Case{"_start", "_start"},
                                           Case{".text", ".text"}, Case{"a.b", "a.b"}, Case{"x.5", "x.5"},
                                           Case{"_Z", "_Z"}, Case{"_R", "_R"}, Case{"_Zebra", "_Zebra"},
                                           Case{"_Rust", "_Rust"}, Case{".cold", ".cold"},
                                           Case{".1.2", ".1.2"}, Case{"operator new", "operator new"}));

TEST(DemangleBounds, LongCxxNamesAreDemangledBeyondTheLimitOfTheLibrary) {
  std::string mangled = "_ZN";
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    mangled += "4name";
    expected += "name::";
  }
  EXPECT_EQ(demangle(mangled + "3endEv"), expected + "end()");
}

TEST(DemangleBounds, ANameThatCannotBeDemangledKeepsItsReadableBeginning) {
  const std::string mangled = "_ZN5boost6spirit2qi" + std::string(9000, 'S') + "E";
  EXPECT_EQ(demangle(mangled).substr(0, 45), "boost::spirit::qi::.. [_Z, 9020 characters, #")
      << demangle(mangled);
}

// Names of clang 16 and gcc 14 that libiberty does not know yet.
TEST(DemangleBounds, NamesThatCannotBeDemangledStayAsManyAsTheyWere) {
  const std::vector<std::string> mangled = {"_Z5parseITk5Inputi6ReaderEvT_T0_",
                                            "_Z5parseITk5Inputc6ReaderEvT_T0_",
                                            "_Z5parseITk5Inputl6ReaderEvT_T0_",
                                            "_ZN3net4sendIiQ6SmallTIT_EEEvS1_",
                                            "_ZN3net4sendIlQ6SmallTIT_EEEvS1_",
                                            "_ZN3netF4sendIiEEvRKS_T_",
                                            "_ZN3netF4sendIlEEvRKS_T_",
                                            "_ZNW3foo1aE3barB5cxx11DTcl1fEE",
                                            "_ZNW3foo1aE3barB5cxx14DTcl1fEE",
                                            "_ZN5boost6spirit2qi" + std::string(9000, 'S') + "aE",
                                            "_ZN5boost6spirit2qi" + std::string(9000, 'S') + "bE",
                                            std::string(70'000, 'x') + "a",
                                            std::string(70'000, 'x') + "b"};
  std::set<std::string> names;
  for (const std::string& each : mangled) names.insert(demangle(each));
  EXPECT_EQ(names.size(), mangled.size());
  EXPECT_EQ(demangle(mangled[0]), "parse::.. [_Z5parseITk5Inputi6ReaderEvT_T0_]");
}

class SourceName : public ::testing::TestWithParam<Case> {};

TEST_P(SourceName, IsTheSameWhateverToolWroteIt) {
  EXPECT_EQ(source_name(GetParam().mangled), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(
    All, SourceName,
    ::testing::Values(Case{"_ZN3foo3barEi.isra.0", "foo::bar(int)"},
                      Case{"foo::bar(int) [clone .isra.0]", "foo::bar(int)"},
                      Case{"foo::bar(int) [clone .isra.0] [clone .cold]", "foo::bar(int)"},
                      Case{"f(int) [clone .part.0]", "f(int) [clone .part.0]"},
                      Case{"f(int) [clone .part.0] [clone .cold]", "f(int) [clone .part.0]"},
                      Case{"parse::h0bfa24a8d6483291", "parse"},
                      Case{"<a::B as c::D>::e::h0bfa24a8d6483291", "<a::B as c::D>::e"},
                      Case{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
                      // No hash: too short, an upper-case digit, nothing before it.
                      Case{"parse::h0bfa24a8d648329", "parse::h0bfa24a8d648329"},
                      Case{"parse::h0BFA24A8D6483291", "parse::h0BFA24A8D6483291"},
                      Case{"::h0bfa24a8d6483291", "::h0bfa24a8d6483291"},
                      // Other languages: a method named cold, a constructor of Python, the name of a test.
                      Case{"cache.cold", "cache.cold"}, Case{"_Reader.read", "_Reader.read"},
                      Case{"x [clone]", "x [clone]"}, Case{"[clone .cold", "[clone .cold"}, Case{"", ""}));

TEST(UnitSuffix, IsTheNumberOfAStaticFunctionThatOtherUnitsMayCall) {
  EXPECT_EQ(unit_suffix("_ZL4workv.llvm.123").name, "_ZL4workv");
  EXPECT_EQ(unit_suffix("_ZL4workv.llvm.123").number, ".llvm.123");
  EXPECT_EQ(unit_suffix("work.lto_priv.0.cold").name, "work");
  EXPECT_EQ(unit_suffix("work.lto_priv.0.cold").number, ".lto_priv.0");
  EXPECT_EQ(unit_suffix("work.__uniq.45").number, ".__uniq.45");
  for (const char* name : {"work.constprop.0", "work.llvm", "work", ""})
    EXPECT_EQ(unit_suffix(name).number, "") << name;
}

// Each argument refers to the one before it twice, so that the text doubles at every step: 60 steps would
// take years.
TEST(DemangleBounds, BackReferencesThatDoubleEachTimeStopEarly) {
  std::string cxx = "_Z1fI1aEv";
  const auto reference = [](int index) {
    const char* digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (index == 0) return std::string("S_");
    index -= 1;
    return index < 36 ? std::string("S") + digits[index] + "_"
                      : std::string("S") + digits[index / 36] + digits[index % 36] + "_";
  };
  cxx += "1p";
  for (int i = 0; i < 60; ++i) cxx += "I" + reference(2 * i) + reference(2 * i) + "E";
  std::string pairs = "_Z1f1aSt4pairIS_S_E";
  for (int i = 0; i < 60; ++i) pairs += "St4pairI" + reference(i + 1) + reference(i + 1) + "E";
  std::string rust = "_RIC1aTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTuB1i_B1h_B1g_EE";
  const auto start = std::chrono::steady_clock::now();
  for (const auto& name : {cxx, pairs, rust}) EXPECT_LE(demangle(name).size(), 70'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(DemangleBounds, DeepNestingNeitherCrashesNorHangs) {
  for (const char* unit : {"P", "1aI", "FP", "N", "Xad", "_Z", "T", "I", "u1", "J", "DpDT"}) {
    for (const char* prefix : {"_Z1f", "_ZN1fI", "_RI", "_RN", "_RY"}) {
      std::string mangled = prefix;
      while (mangled.size() < 8100) mangled += unit;
      EXPECT_FALSE(demangle(mangled).empty());
    }
  }
}

TEST(DemangleBounds, AHugeNameIsCut) {
  EXPECT_LT(demangle(std::string(10'000'000, 'x')).size(), 300u);
}

}  // namespace
}  // namespace fathom::symbolize
