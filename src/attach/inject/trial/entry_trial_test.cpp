#include "attach/inject/trial/entry_trial.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "linux/process/testing_namespaces.h"

namespace fathom::inject {
namespace {

using allocators::nameless::name_of;
using allocators::nameless::Role;

#ifdef USES_JEMALLOC
std::multimap<std::uint64_t, std::string> names_of(const elf::ElfFile& file) {
  std::multimap<std::uint64_t, std::string> found;
  for (const elf::Symbol& symbol : file.symbols(elf::SymbolTable::kSymtab))
    if (symbol.section != 0) found.emplace(symbol.address.value, symbol.name);
  return found;
}

// Names of functions with this role.
std::set<std::string> jemalloc_names_for(Role role) {
  switch (role) {
    case Role::kFree:
      return {"free", "dallocx"};
    case Role::kSdallocx:
      return {"sdallocx", "je_je_sdallocx_noflags"};
    case Role::kAlignedAlloc:
      return {"aligned_alloc", "memalign"};
    case Role::kValloc:
      return {"valloc", "pvalloc"};
    case Role::kNew:
      return {"_Znwm", "_Znam"};
    case Role::kMalloc:
      return {"malloc", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"};
    default:
      return {std::string(name_of(role))};
  }
}

// Compares the entries found in the stripped program with the names in its unstripped twin.
void expect_entries(const std::string& twin_path, const std::string& path,
                    const std::vector<std::string>& at_least, std::string_view prefix = {}) {
  SCOPED_TRACE(path);
  FATHOM_NEEDS_NAMESPACES();
  const auto twin = elf::ModuleFile::open(twin_path), stripped = elf::ModuleFile::open(path);
  ASSERT_TRUE(twin && stripped);
  const auto found = allocators::nameless::find_jemalloc_entries(stripped->elf());
  ASSERT_TRUE(found) << found.error().message;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto trial = try_entries(fd.get(), stripped->elf(), *found, 0);
  ASSERT_TRUE(trial) << trial.error().message;
  const auto names = names_of(twin->elf());
  std::set<std::string> seen;
  for (const TriedEntry& each : trial->entries) {
    const auto [begin, end] = names.equal_range(each.candidate.address.value);
    bool right = false;
    std::string all;
    for (auto at = begin; at != end; ++at) {
      std::string name = at->second;
      if (!prefix.empty() && name.starts_with(prefix)) name.erase(0, prefix.size());
      all += name + " ";
      right |= jemalloc_names_for(each.role).contains(name);
      seen.insert(std::move(name));
    }
    EXPECT_TRUE(right) << all << "is taken for " << name_of(each.role);
  }
  for (const std::string& name : at_least) EXPECT_TRUE(seen.contains(name)) << name;
}
void expect_entries(const std::string& form, const std::vector<std::string>& at_least) {
  expect_entries(USES_JEMALLOC + form, USES_JEMALLOC + form + "_stripped", at_least);
}

const std::vector<std::string> kCalled = {"malloc", "calloc",         "realloc",
                                          "free",   "posix_memalign", "aligned_alloc"};

TEST(EntryTrial, OfADynamicProgram) {
  expect_entries("pie", kCalled);
  expect_entries("fixed", kCalled);
}

TEST(EntryTrial, OfAStaticProgram) {
  expect_entries("static_pie", kCalled);
  expect_entries("static", kCalled);
}

TEST(EntryTrial, OfAProgramThatOnlyFreesThroughATableOfPointers) {
  expect_entries("table_static_pie", kCalled);
  expect_entries("table_static", kCalled);
}

TEST(EntryTrial, OfAProgramInCpp) {
  expect_entries("cpp", {"malloc", "realloc", "free", "_Znwm"});
  expect_entries("cpp_static_pie", {"malloc", "realloc", "free", "_Znwm"});
}

// A large external program and a stripped copy of it, both named in the environment.
TEST(EntryTrial, OfALargeRustProgram) {
  const char *twin = std::getenv("FATHOM_TWIN"), *stripped = std::getenv("FATHOM_STRIPPED");
  if (twin == nullptr || stripped == nullptr) GTEST_SKIP() << "FATHOM_TWIN and FATHOM_STRIPPED name none";
  expect_entries(twin, stripped, {"malloc", "calloc", "realloc", "mallocx", "rallocx", "sdallocx"}, "_rjem_");
}
#else
TEST(EntryTrial, OfADynamicProgram) {
  GTEST_SKIP() << "needs libjemalloc_pic.a of libjemalloc-dev, which is not installed";
}
#endif

}  // namespace
}  // namespace fathom::inject
