// Where results go: files, pipes, devices.
#include <fcntl.h>
#include <sys/stat.h>

#include "analysis/heap/hand_made_heap.h"
#include "base/fd.h"
#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

TEST_F(Cli, AReaderThatHasSeenEnoughIsNoError) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd write_end(ends[1]);
  ::close(ends[0]);  // "| head" has left already
  for (const char* option : {"--json", "--wide"}) {
    const Outcome outcome = run({"report", recording_, option}, "/dev/null", write_end.get());
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.error, "");
  }
}

TEST_F(Cli, AnEarlierResultIsReplacedAndAnythingElseOnlyWithForce) {
  // Names without an ending: one that promises another kind of file is refused before.
  const std::string precious = file("main.cpp", "int main() {}\n"), picture = folder_ + "/picture",
                    json = folder_ + "/numbers", recorded = folder_ + "/recorded";
  std::filesystem::copy(recording_, recorded);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(run({"flamegraph", recording_, "-o", picture}).status, 0);
    EXPECT_EQ(run({"report", recording_, "--json", "-o", json}).status, 0);
  }
  const std::vector<std::vector<std::string>> wrong = {
      {"flamegraph", recording_, "-o", precious},
      {"flamegraph", recording_, "-o", recorded},
      {"flamegraph", recording_, "-o", json},
      {"report", recording_, "-o", precious},
      {"report", recording_, "--json", "-o", picture},
      {"export", recording_, "--to", "folded", "-o", precious}};
  for (const std::vector<std::string>& arguments : wrong) {
    const std::string before = read_file(arguments.back()).value();
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(
        outcome.error,
        "fathom: " + arguments.back() +
            ": a file with this name exists, and it is not recognised as an earlier result of this kind\ntry: another name, or --force to replace it\n");
    EXPECT_EQ(read_file(arguments.back()).value(), before);
  }
  EXPECT_EQ(run({"report", recording_, "-o", precious, "--force"}).status, 0);
  EXPECT_THAT(read_file(precious).value(), StartsWith("hand (pid 10)"));
}

TEST_F(Cli, DevicesAndPipesAreWrittenIntoAndLinksAreRefused) {
  EXPECT_THAT(run({"report", recording_, "-o", "/dev/stdout"}).out, StartsWith("hand (pid 10)"));
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(run({"report", recording_, "-o", pipe}).error,
              HasSubstr(": no process reads from this pipe\ntry: "));
  const Fd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(run({"report", recording_, "-o", pipe}).status, 0);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::create_symlink("elsewhere", folder_ + "/link");
  for (const char* force : {"--wide", "--force"})
    EXPECT_THAT(run({"report", recording_, "-o", folder_ + "/link", force}).error,
                HasSubstr(": this is a symbolic link, which is not followed\ntry: "));
}

TEST_F(Cli, ACommandThatFailsLeavesNoFile) {
  const std::string path = folder_ + "/new/x.svg";
  EXPECT_EQ(run({"flamegraph", recording_, "--metric", "off-cpu", "-o", path}).status, 3);
  EXPECT_EQ(run({"flamegraph", folder_ + "/nothing", "-o", path}).status, 3);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new"));
}

// ulimit -f: the kernel would send SIGXFSZ, which ends a program without a word.
TEST_F(Cli, ALimitOfFileSizesIsAnErrorOfEveryCommandThatWrites) {
  const std::string heap = folder_ + "/heap.fathom";
  ASSERT_TRUE(store::Writer::create(heap).value().finish(analysis::small_heap().profile));
  const std::string out = folder_ + "/new/out";
  const std::vector<std::vector<std::string>> commands = {
      {"report", recording_, "--all", "-o", out},
      {"report", recording_, "--json", "-o", out},
      {"diff", recording_, recording_, "--json", "-o", out},
      {"flamegraph", recording_, "-o", out},
      {"timeline", heap, "-o", out},
      {"view", recording_, "--html", out},
      {"export", recording_, "--to", "speedscope", "-o", out},
      {"export", recording_, "--to", "html", "-o", out},
      {"export", recording_, "--to", "sql", "-o", out},
      {"merge", out, recording_, recording_},
      {"report", recording_, "--all"},
      {"man", "record"},
      {"completion", "bash"},
  };
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> words = {"-c", "ulimit -f 1; exec \"$0\" \"$@\"", FATHOM_BINARY};
    words.insert(words.end(), command.begin(), command.end());
    const Outcome outcome = run_program("/bin/sh", words, "/dev/null");
    EXPECT_EQ(outcome.status, 1) << command[0];
    EXPECT_THAT(outcome.error, HasSubstr(": File too large\ntry: ")) << command[0];
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/new")) << command[0] << " left a part";
  }
}

TEST_F(Cli, AFullDiskIsAnError) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_GE(full.get(), 0);
  const Outcome outcome = run({"report", recording_}, "/dev/null", full.get());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, StartsWith("fathom: standard output: "));
  EXPECT_THAT(outcome.error, HasSubstr("\ntry: "));
}

}  // namespace
}  // namespace fathom::cli
