// Plans are proved by running them: whole copies of allocators' libraries and of programs, with every
// function that a plan was made for patched on disk, do their work through the trampolines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "attach/allocators/testing_libraries.h"
#include "base/arch/code/testing_patched_copy.h"
#include "base/shell_word.h"

namespace fathom::arch {
namespace {

using allocators::testing::anvil;
using testing::PatchedCopy;
using testing::PatchedCopyWriter;
using testing::StubKind;

struct Ran {
  int status;  // of the program; 128 + signal if it was killed
  std::string output;
};

Ran run(const std::string& command) {
  Ran ran{-1, {}};
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");  // NOLINT: a test's own command
  if (pipe == nullptr) return ran;
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) ran.output.append(part, n);
  const int status = ::pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

class EntryPlanExecution : public ::testing::Test {
 protected:
  EntryPlanExecution() {
    std::string name = (std::filesystem::temp_directory_path() / "entry_plan.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~EntryPlanExecution() override { std::filesystem::remove_all(folder_); }

  // A copy of `path` under the name `name` with all its functions patched.
  std::string patched(const std::string& path, const std::string& name, PatchedCopy& copy,
                      StubKind kind = StubKind::kCounts) {
    const auto file = elf::ModuleFile::open(path);
    EXPECT_TRUE(file) << path;
    const auto found = allocators::find(file->elf(), nullptr);
    EXPECT_EQ(found.allocators.size(), 1U) << path;
    std::string to = folder_ + "/" + name;
    copy = PatchedCopyWriter(file->elf(), found.allocators.at(0).functions, kind).write(to);
    std::filesystem::permissions(to, std::filesystem::perms::owner_all);
    return to;
  }

  // Runs the exerciser by `command` with every patched function, and expects each to do its work, and each
  // entry to have been gone through.
  static void expect_good(const std::string& command, const PatchedCopy& copy) {
    std::string arguments;
    for (const auto& each : copy.functions) arguments += fmt::format(" '{}={}'", each.name, int{each.shape});
    const Ran ran = run(command + arguments);
    EXPECT_EQ(ran.status, 0) << ran.output;
    std::istringstream lines(ran.output);
    std::string line;
    for (const auto& each : copy.functions) {
      ASSERT_TRUE(std::getline(lines, line)) << ran.output;
      EXPECT_EQ(line, each.name + " good");
    }
    for (const auto& each : copy.functions) {
      ASSERT_TRUE(std::getline(lines, line)) << ran.output;
      ASSERT_TRUE(line.starts_with("counter ")) << line;
      EXPECT_GE(std::stoul(line.substr(8)), 4U) << each.name;  // once for each size that it is made for
    }
  }
  // The only plans that may be refused: functions that begin by calling another one, and do their work by a
  // function that is patched.
  static void expect_refused_only(const PatchedCopy& copy, const std::vector<std::string>& names) {
    for (const auto& each : copy.refused) {
      EXPECT_THAT(names, ::testing::Contains(each.name)) << each.why;
      EXPECT_THAT(each.why, ::testing::MatchesRegex("a call at \\+[0-9]+ would return into the trampoline"));
    }
  }

  std::string folder_;
};

TEST_F(EntryPlanExecution, Jemalloc) {
  FATHOM_NEEDS(allocators::testing::libjemalloc(), "libjemalloc");
  PatchedCopy copy;
  const auto path = patched(*allocators::testing::libjemalloc(), "libjemalloc.so.2", copy);
  expect_refused_only(copy, {});
  EXPECT_GE(copy.functions.size(), 21U);
  expect_good("LD_PRELOAD=" + path + " " + shell_word(EXERCISE_DYNAMIC), copy);
}

TEST_F(EntryPlanExecution, Mimalloc) {
  FATHOM_NEEDS(allocators::testing::libmimalloc(), "libmimalloc");
  PatchedCopy copy;
  const auto path = patched(*allocators::testing::libmimalloc(), "libmimalloc.so.2", copy);
  expect_refused_only(copy, {"mi_cfree", "mi_valloc", "mi_pvalloc", "mi_reallocarray"});
  EXPECT_GE(copy.functions.size(), 70U);
  expect_good("LD_PRELOAD=" + path + " " + shell_word(EXERCISE_DYNAMIC), copy);
}

TEST_F(EntryPlanExecution, Tcmalloc) {
  FATHOM_NEEDS(allocators::testing::libtcmalloc(), "libtcmalloc_minimal");
  PatchedCopy copy;
  const auto path = patched(*allocators::testing::libtcmalloc(), "libtcmalloc_minimal.so.4", copy);
  expect_refused_only(copy, {});
  EXPECT_GE(copy.functions.size(), 18U);
  expect_good("LD_PRELOAD=" + path + " " + shell_word(EXERCISE_DYNAMIC), copy);
}

TEST_F(EntryPlanExecution, Glibc) {
  FATHOM_NEEDS(allocators::testing::glibc(), "glibc");
  PatchedCopy copy;
  patched(*allocators::testing::glibc(), "libc.so.6", copy);
  expect_refused_only(copy, {});
  EXPECT_GE(copy.functions.size(), 9U);
  expect_good("LD_LIBRARY_PATH=" + folder_ + " " + shell_word(EXERCISE_DYNAMIC), copy);
}

TEST_F(EntryPlanExecution, StaticProgramOfFixedAddress) {
  PatchedCopy copy;
  const auto path = patched(EXERCISE_STATIC_PROGRAM, "static", copy);
  expect_refused_only(copy, {});
  expect_good(path, copy);
}

TEST_F(EntryPlanExecution, StaticPie) {
  PatchedCopy copy;
  const auto path = patched(EXERCISE_STATIC_PIE_PROGRAM, "static_pie", copy);
  expect_refused_only(copy, {});
  expect_good(path, copy);
}

TEST_F(EntryPlanExecution, Musl) {
#ifdef EXERCISE_MUSL_PROGRAM
  FATHOM_NEEDS(allocators::testing::musl(), "musl");
  PatchedCopy library, program;
  const auto loader = patched(*allocators::testing::musl(), "ld-musl", library);
  expect_refused_only(library, {});
  expect_good(loader + " " + shell_word(EXERCISE_MUSL_DYNAMIC_PROGRAM), library);

  const auto path = patched(EXERCISE_MUSL_PROGRAM, "musl", program);
  expect_refused_only(program, {});
  expect_good(path, program);
#else
  GTEST_SKIP() << "needs musl-gcc when it is built";
#endif
}

TEST_F(EntryPlanExecution, AnvilRunsThroughItsTrampolines) {
  FATHOM_NEEDS(anvil(), "anvil, named by ANVIL");
  PatchedCopy copy;
  const auto path = patched(*anvil(), "anvil", copy);
  EXPECT_TRUE(copy.refused.empty());
  ASSERT_EQ(copy.functions.size(), 6U);
  for (std::size_t i = 0; i < copy.functions.size(); ++i)
    if (copy.functions[i].name == "_rjem_malloc") {
      EXPECT_TRUE(copy.plans[i].single_instruction);
    }
  const Ran original = run(*anvil() + " --help"), through = run(path + " --help");
  EXPECT_EQ(original.status, 0) << original.output;
  EXPECT_EQ(through.status, 0) << through.output;
  EXPECT_EQ(through.output, original.output);
  // And it would have stopped, had the stubs not gone on.
  const auto stops = patched(*anvil(), "anvil_stops", copy, StubKind::kStops);
  EXPECT_NE(run(stops + " --help").status, 0);
}

}  // namespace
}  // namespace fathom::arch
