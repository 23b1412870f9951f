// fathom tour: records a small program with three faults and finds them, a command at a time.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/spawn.h"
#include "cli/command.h"
#include "cli/end_signals.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/tour_program.h"

namespace fathom::cli {
namespace {

namespace filesystem = std::filesystem;

constexpr const char* kProgram = "shop";  // a link to fathom, so that the recording has a name of its own

struct TourArguments {
  std::string keep;
};

struct Step {
  std::string_view title, before;
  std::vector<std::string> words;
  std::string_view after;
};

std::vector<Step> steps() {
  const std::string recording = "tour.fathom", picture = "tour.svg";
  return {
      {"Record",
       "A small shop answers requests for 8 seconds. It has three faults: it burns CPU time, it waits too long, and it leaks memory.",
       {"record", "--heap", "-o", recording, "--", std::string("./") + kProgram,
        std::string(kTourProgramArgument)},
       "While it runs, the last line shows the samples, the CPU use of the shop and, after 3 s, its hottest function."},
      {"Where does the CPU time go?",
       "A report is one screen. Read its first sentences.",
       {"report", recording},
       "parse_request takes the CPU time: it compiles the same regular expression again for each line. The fix is to compile it once."},
      {"The same as a picture",
       "A flame graph has a box for each function, as wide as its CPU time, below its caller.",
       {"flamegraph", recording, "-o", picture, "--force"},
       "Open the picture in a browser: click a box to zoom, type / to search. `fathom view tour.fathom` opens a page with the same picture and how it changes over time."},
      {"What does it wait for?",
       "CPU time is half the story. This table shows what threads waited for, and which thread ended the wait.",
       {"report", recording, "--waits"},
       "Both request threads wait for a lock in answer_request. save_sessions keeps it while a slow disk writes. The fix is to copy the sessions, release the lock, and then write."},
      {"Which memory is never freed?",
       "The recording knows the stacks of all memory that was live when the shop ended.",
       {"leaks", recording},
       "remember_session allocates a session for each request, and nothing frees it. Exit status 5 means that there are leaks, so a script can check it."},
  };
}

// Removed with all that is in it, unless the user keeps it.
class TourFolder {
 public:
  static Result<TourFolder> open(const std::string& keep) {
    std::error_code problem;
    if (!keep.empty()) {
      filesystem::create_directories(keep, problem);
      if (problem)
        return fail(ErrorKind::kSystem, fmt::format("{}: {}", keep, problem.message()), "another folder");
      return TourFolder(keep, false);
    }
    std::string pattern = (filesystem::temp_directory_path(problem) / "fathom-tour-XXXXXX").string();
    if (problem || ::mkdtemp(pattern.data()) == nullptr) return system_error(pattern, errno);
    return TourFolder(pattern, true);
  }
  TourFolder(TourFolder&& other) noexcept : path_(std::move(other.path_)), is_ours_(other.is_ours_) {
    other.path_.clear();
  }
  TourFolder& operator=(TourFolder&&) = delete;
  ~TourFolder() {
    std::error_code ignored;
    if (!path_.empty() && is_ours_) filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  TourFolder(std::string path, bool is_ours) : path_(std::move(path)), is_ours_(is_ours) {}
  std::string path_;
  bool is_ours_;
};

// A link to fathom, removed at the end. A link that an interrupted tour left is replaced, and nothing else.
class ProgramLink {
 public:
  explicit ProgramLink(filesystem::path path) : path_(std::move(path)) {}
  ProgramLink(const ProgramLink&) = delete;
  ProgramLink& operator=(const ProgramLink&) = delete;
  ~ProgramLink() {
    std::error_code ignored;
    if (is_made_) filesystem::remove(path_, ignored);
  }
  Result<> make() {
    constexpr std::string_view kRemedy = "another folder: --keep FOLDER";
    std::error_code problem;
    const auto status = filesystem::symlink_status(path_, problem);
    if (filesystem::exists(status) && !filesystem::is_symlink(status))
      return fail(ErrorKind::kUsage, fmt::format("{}: a file with this name exists", path_.string()),
                  std::string(kRemedy));
    filesystem::remove(path_, problem);
    filesystem::create_symlink(filesystem::read_symlink("/proc/self/exe", problem), path_, problem);
    if (problem)
      return fail(ErrorKind::kSystem, fmt::format("{}: {}", path_.string(), problem.message()),
                  std::string(kRemedy));
    is_made_ = true;
    return {};
  }

 private:
  filesystem::path path_;
  bool is_made_ = false;
};

// Runs fathom in `folder` and waits for it. The exit status; 128 and the signal that ended it.
Result<int> run_fathom(const std::vector<std::string>& words, const std::string& folder,
                       const EndSignals& signals) {
  Spawn spawn;
  spawn.signal_mask(signals.before());
  spawn.folder(folder);
  std::vector<std::string> all{"fathom"};
  all.insert(all.end(), words.begin(), words.end());
  const Result<pid_t> pid = spawn.start("/proc/self/exe", std::move(all));
  if (!pid) return tl::unexpected(pid.error());
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0)
    if (errno != EINTR) return system_error("waitpid", errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Waits for the Enter key. False: the user wants no more.
bool goes_on(const EndSignals& signals) {
  notice("Enter: next step, q and Enter: end ");
  for (;;) {
    if (signals.wait(std::chrono::nanoseconds(0))) return false;
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    if (::poll(&ready, 1, 200) <= 0) continue;
    std::array<char, 256> typed{};
    const ssize_t count = ::read(STDIN_FILENO, typed.data(), typed.size());
    return count > 0 && typed[0] != 'q' && typed[0] != 'Q';
  }
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line = "$ fathom";
  for (const std::string& word : words) line += " " + word;
  return line;
}

Result<int> run_tour(const TourArguments& arguments) {
  const EndSignals signals;
  const bool asks = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  auto folder = TourFolder::open(arguments.keep);
  if (!folder) return tl::unexpected(folder.error());
  ProgramLink program(filesystem::path(folder->path()) / kProgram);
  if (auto made = program.make(); !made) return tl::unexpected(made.error());
  const std::vector<Step> all = steps();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Step& step = all[i];
    const std::string head = fmt::format("\n{} of {}: {}\n{}\n\n{}\n\n", i + 1, all.size(), step.title,
                                         step.before, shell_line(step.words));
    if (auto written = write_output(head, OutputPath{}); !written) return tl::unexpected(written.error());
    const Result<int> status = run_fathom(step.words, folder->path(), signals);
    if (!status) return status;
    if (signals.wait(std::chrono::nanoseconds(0))) return kDone;
    const bool is_expected = *status == kDone || (step.words.front() == "leaks" && *status == kConditionHeld);
    if (!is_expected)
      return fail(ErrorKind::kSystem, fmt::format("step {} of the tour ended with status {}", i + 1, *status),
                  "fathom doctor");
    if (auto written = write_output(fmt::format("\n→ {}\n", step.after), OutputPath{}); !written)
      return tl::unexpected(written.error());
    if (asks && i + 1 < all.size() && !goes_on(signals)) return kDone;
  }
  const std::string files =
      arguments.keep.empty()
          ? "The recording and the picture are removed now; fathom tour --keep FOLDER keeps them."
          : fmt::format("The recording and the picture are in {}.", arguments.keep);
  return end_with_output(
      fmt::format(
          "\nNow a program of your own:\n  fathom triage -p PID        30 s of a running process, and the kind of its problem\n  fathom record -- COMMAND    a command from its start to its end\n{}\n",
          files),
      OutputPath{});
}

}  // namespace

Run add_tour(CLI::App& app) {
  auto arguments = std::make_shared<TourArguments>();
  app.add_option("--keep", arguments->keep, "keep the recording and the picture in this folder")
      ->type_name("FOLDER");
  app.footer(
      "If the input is not a terminal, the tour does not wait between its steps. It needs the privileges of record --heap; fathom doctor checks them.");
  return [arguments] { return run_tour(*arguments); };
}

}  // namespace fathom::cli
