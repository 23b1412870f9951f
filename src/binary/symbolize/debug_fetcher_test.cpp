// Names of a stripped program from Debian's debuginfod server on loopback; without the server, what a recording without one does.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "binary/elf/module_file.h"
#include "binary/symbolize/testing_fixtures.h"
#include "binary/symbolize/worker.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;
using model::FrameId;
using model::ModuleId;
using std::chrono::steady_clock;

class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "fathom-fetch-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A port without a listener that only we will take soon.
int free_port() {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ::ntohs(address.sin_port);
}

bool answers(int port) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

// Debian's server, over the files below one folder.
class Server {
 public:
  explicit Server(const std::string& folder) : port_(free_port()) {
    std::vector<std::string> arguments = {"debuginfod",          "-d", ":memory:", "-p",
                                          std::to_string(port_), "-F", folder};
    std::vector<char*> argv;
    for (std::string& each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
      ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    if (::posix_spawnp(&pid_, "debuginfod", &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < 200 && pid_ > 0 && !answers(port_); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ~Server() { stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  bool runs() const { return pid_ > 0; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int port_;
  pid_t pid_ = -1;
};

bool have_server() {
  return std::system("command -v debuginfod >/dev/null 2>&1") == 0;
}

Options fetching(const std::string& urls, const std::string& cache) {
  Options options = no_debug_directories();
  options.reader.program = FATHOM_NAME_READER;
  options.fetch = {.urls = urls, .program = FATHOM_NAME_READER, .cache_directory = cache};
  options.fetch.wait_ns = 120'000'000'000;  // a busy machine
  return options;
}

ElfAddress in_turn(const std::string& whole) {
  const auto file = elf::ModuleFile::open(whole);
  for (const auto& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.name == "_ZN6engine4turnERKNS_5ShapeEj") return {symbol.address.value + 8};
  return {};
}

struct Named {
  std::vector<Name> names;
  std::string sentence;
  double seconds = 0;
};

// As a recording does it: submit, and drain at the end.
Named name_stripped(const Options& options) {
  Named named;
  Worker worker(options);
  worker.submit(ModuleId{1}, source_of(fixture("forms/gcc-5.build-id/program")));
  worker.submit(ModuleId{1}, FrameId{1}, in_turn(fixture("forms/gcc-5")));
  const auto start = steady_clock::now();
  worker.drain();
  named.seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
  for (auto& frame : worker.poll().frames) named.names = frame.names;
  named.sentence = worker.fetch_sentence();
  return named;
}

constexpr const char* kTurn = "engine::turn(engine::Shape const&, unsigned int)";

// The server has read its folder when it answers for it, which is not when it first listens.
Named name_when_indexed(const Options& options) {
  Named named;
  for (int i = 0; i < 100; ++i) {
    named = name_stripped(options);
    if (named.sentence.find("no server has") == std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return named;
}

TEST(Debuginfod, NamesInlinedCallsAndLinesOfAStrippedProgramComeFromTheServer) {
  if (!have_server()) GTEST_SKIP() << "no debuginfod is installed";
  const Folder cache;
  Server server(fixture("forms/gcc-5.build-id/debug"));
  ASSERT_TRUE(server.runs());
  const Options options = fetching(server.url(), cache.path() + "/files");
  const Named named = name_when_indexed(options);
  ASSERT_FALSE(named.names.empty()) << named.sentence;
  EXPECT_EQ(named.names.back().function, kTurn);
  EXPECT_TRUE(named.names.back().file.ends_with("/forms.cpp"));
  EXPECT_EQ(named.sentence, "debuginfod: debug files came for program");

  server.stop();
  const Named again = name_stripped(options);
  EXPECT_EQ(again.names, named.names) << "kept from before; " << again.sentence;
}

TEST(Debuginfod, NothingIsFetchedUnlessServersAreNamed) {
  const Folder cache;
  const Named named = name_stripped(fetching("", cache.path() + "/files"));
  ASSERT_FALSE(named.names.empty());
  EXPECT_TRUE(named.names.back().function.starts_with("program@fde+0x")) << named.names.back().function;
  EXPECT_EQ(named.sentence, "");
  EXPECT_FALSE(fs::exists(cache.path() + "/files"));
}

TEST(Debuginfod, AServerThatIsNotThereCostsTheNamesAndIsNamed) {
  const Folder cache;
  const Named named =
      name_stripped(fetching("http://127.0.0.1:" + std::to_string(free_port()), cache.path() + "/files"));
  ASSERT_FALSE(named.names.empty());
  EXPECT_TRUE(named.names.back().function.starts_with("program@fde+0x")) << named.names.back().function;
  EXPECT_THAT(named.sentence, ::testing::StartsWith("debuginfod: that of program could not be fetched: "));
}

// It takes the connection, and says nothing.
TEST(Debuginfod, AServerThatNeverAnswersHoldsTheEndUpForTheTimeThatWasSetAndNoLonger) {
  if (!have_server()) GTEST_SKIP() << "no debuginfod is installed";  // then no client is, either
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Folder cache;
  Options options =
      fetching("http://127.0.0.1:" + std::to_string(::ntohs(address.sin_port)), cache.path() + "/files");
  options.fetch.wait_ns = 500'000'000;
  const Named named = name_stripped(options);
  EXPECT_LT(named.seconds, 60.0) << "its client would wait for 90 s";
  EXPECT_EQ(named.sentence, "debuginfod: not there 0.5 s after the end of the recording: that of program");
  ASSERT_FALSE(named.names.empty()) << "the frame has the name that it has without";
  EXPECT_TRUE(named.names.back().function.starts_with("program@fde+0x"));
}

TEST(Debuginfod, WhatItsClientHasKeptIsUsedWithoutAnyNetwork) {
  const Folder cache;
  const auto whole = elf::ModuleFile::open(fixture("forms/gcc-5"));
  const std::string id = whole->elf().build_id();
  fs::create_directories(cache.path() + "/" + id);
  fs::copy_file(
      fixture("forms/gcc-5.build-id/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug"),
      cache.path() + "/" + id + "/debuginfo");
  Options options = no_debug_directories();
  options.debuginfod_caches = {cache.path()};
  const auto symbols = ModuleSymbols::open(source_of(fixture("forms/gcc-5.build-id/program")), options);
  EXPECT_EQ(symbols->source_path(), cache.path() + "/" + id + "/debuginfo");
  const auto names = symbols->resolve(std::vector<ElfAddress>{in_turn(fixture("forms/gcc-5"))});
  EXPECT_EQ(names[0].back().function, kTurn);
}

}  // namespace
}  // namespace fathom::symbolize
