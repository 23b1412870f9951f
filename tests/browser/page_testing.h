// For tests: a recording as a frozen page in a headless Chromium, to compare the page with the program's
// output. FATHOM_SCREENSHOTS=FOLDER keeps pictures for inspection.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/core/words.h"
#include "base/files.h"
#include "browser/chromium.h"
#include "model/profile.h"
#include "model/store/writer.h"

namespace fathom::browser {

// The program with its standard output in a file; -1 where it cannot be started.
inline pid_t start_program(std::vector<std::string> arguments, const std::string& out) {
  arguments.insert(arguments.begin(), FATHOM_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&files, 2, (out + ".error").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = -1;
  if (::posix_spawn(&pid, FATHOM_BINARY, &files, nullptr, argv.data(), environ) != 0) pid = -1;
  ::posix_spawn_file_actions_destroy(&files);
  return pid;
}

inline int ended(pid_t pid) {
  int status = -1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The words of a command as a shell has them: blanks part words, single quotes hold them together.
inline std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\'')
      quoted = !quoted;
    else if (c == '\\' && !quoted && i + 1 < command.size())
      words.back() += command[++i];
    else if (c == ' ' && !quoted)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// A heap of `heap` with a slice for each of `seconds`, in which `row_of(second, site)` says what each of its two sites did.
template <class RowOf>
void add_heap_course(model::Profile& profile, const model::Heap& heap, std::uint32_t seconds, RowOf row_of) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  model::HeapTables& tables = profile.heap;
  tables.heaps.push_back(heap);
  double live = 0;
  for (std::uint32_t i = 0; i < seconds; ++i) {
    model::HeapSlice slice;
    slice.start_ns = heap.start_ns + i * kSecond;
    slice.end_ns = slice.start_ns + kSecond;
    for (std::uint32_t site = 0; site < 2; ++site) {
      model::HeapRow row = row_of(i, site);
      row.slice = {i};
      row.site = {site};
      live += row.allocated.bytes - row.freed.bytes;
      tables.rows.push_back(row);
    }
    slice.live_bytes = slice.peak_bytes = live;
    slice.peak_ns = slice.end_ns;
    tables.slices.push_back(slice);
  }
}

class PageTest : public testing::Test {
 protected:
  // Of one recording: a browser and its frozen page.
  static void set_up(const model::Profile& profile) {
    if (find_chromium().empty()) return;
    auto started = Chromium::start(1400, 900);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    browser_ = std::move(*started);
    std::string pattern = (std::filesystem::temp_directory_path() / "fathom-page-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_TRUE(store::Writer::create(recording()).value().finish(profile));
    ASSERT_EQ(ended(start_program({"view", recording(), "--html", folder_ + "/page.html"}, folder_ + "/out")),
              0);
  }
  static void TearDownTestSuite() {
    browser_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  void SetUp() override {
    if (find_chromium().empty()) GTEST_SKIP() << "no Chromium on this machine (apt-get install chromium)";
    ASSERT_NE(browser_, nullptr);
    ASSERT_TRUE(browser_->prefer_dark(false).has_value());
    ASSERT_TRUE(browser_->resize(1400, 900).has_value());
  }
  void TearDown() override {
    if (!browser_) return;
    // What the test itself opens is no request of the page.
    std::vector<std::string> complaints = browser_->take_complaints();
    std::erase_if(complaints, [](const std::string& line) {
      return line == "request: data:," || (!served_.empty() && line.starts_with("request: " + served_));
    });
    served_.clear();
    EXPECT_THAT(complaints, testing::IsEmpty());
    if (const char* folder = std::getenv("FATHOM_SCREENSHOTS")) {
      const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
      EXPECT_TRUE(browser_->screenshot(std::string(folder) + "/" + name + ".png").has_value());
    }
  }

  static std::string recording() { return folder_ + "/server.fathom"; }
  void show(const std::string& fragment = "") {
    const auto away = browser_->open("about:blank");
    ASSERT_TRUE(away.has_value()) << away.error().message;
    const auto opened = browser_->open("file://" + folder_ + "/page.html" + fragment);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    wait_for("window.fathom");
  }
  Json ask(const std::string& expression) {
    auto value = browser_->evaluate(expression);
    if (!value) {
      ADD_FAILURE() << expression << ": " << value.error().message;
      return {};
    }
    return *value;
  }
  void wait_for(const std::string& expression) {
    EXPECT_EQ(
        ask("new Promise((done) => { const from = Date.now(); const look = () => (" + expression +
            ") ? done(true) : Date.now() - from > 25000 ? done(false) : setTimeout(look, 10); look(); })"),
        true)
        << expression << " did not come true; at " << ask("location.hash");
  }
  std::string text(const std::string& selector) {
    const Json value = ask("document.querySelector('" + selector + "')?.textContent ?? 'nothing there'");
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  void press(const std::string& key) { ASSERT_TRUE(browser_->press({key}).has_value()); }
  // A place in the lanes, by parts of their width.
  std::pair<double, double> lane_at(double part) {
    const Json box =
        ask("(() => { const b = document.querySelector('.chart canvas').getBoundingClientRect(); "
            "return [b.x, b.y, b.width]; })()");
    if (!box.is_array()) return {0, 0};
    return {box[0].get<double>() + part * box[2].get<double>(), box[1].get<double>() + 40};
  }

  // The page's numbers are those that its command prints.
  void expect_as_reported() {
    const Json page = ask("window.fathom.report()");
    ASSERT_TRUE(page.is_object());
    std::vector<std::string> words = words_of(page["command"]);
    SCOPED_TRACE(page["command"].get<std::string>());
    ASSERT_GE(words.size(), 3u);
    // A served page has the path that its server was given, a page in a file no folder.
    ASSERT_EQ(words[2], served_.empty() ? "server.fathom" : recording());
    words.erase(words.begin());
    words[1] = recording();
    words.push_back("--json");
    const int status = ended(start_program(words, folder_ + "/report.json"));
    const auto written = read_file(folder_ + "/report.json");
    ASSERT_TRUE(written.has_value());
    if (status != 0) {  // nothing is selected: an error of the report, and nothing on the page
      EXPECT_EQ(page["total"], 0);
      return;
    }
    const Json report = Json::parse(*written, nullptr, false);
    ASSERT_FALSE(report.is_discarded());
    EXPECT_EQ(page["total"], report["total"]);
    EXPECT_EQ(page["unit"], report["unit"]);
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> expected, shown;
    for (const Json& row : report["functions"])
      if (row["kind"] != "thread" && row["total"] != 0)
        expected[analysis::printable(row["name"].get<std::string>())] = {row["self"], row["total"]};
    for (const Json& row : page["functions"])
      if (row["total"] != 0) shown[row["name"].get<std::string>()] = {row["self"], row["total"]};
    EXPECT_EQ(shown, expected);
  }

  static inline std::unique_ptr<Chromium> browser_;
  static inline std::string folder_, served_;
};

}  // namespace fathom::browser
