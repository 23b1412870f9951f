#include "binary/symbolize/debug_fetcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/capabilities.h"
#include "base/cursor.h"
#include "base/spawn.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/fetch_process.h"

namespace fathom::symbolize {
namespace {

constexpr std::size_t kMostWords = 4096;  // of what the process says

// What a client of debuginfod, its transport and the loader look at. The target's environment is not ours; this one is.
constexpr std::array kPassedOn = {"DEBUGINFOD_TIMEOUT", "DEBUGINFOD_MAXTIME",
                                  "DEBUGINFOD_MAXSIZE", "DEBUGINFOD_RETRY_LIMIT",
                                  "DEBUGINFOD_VERBOSE", "DEBUGINFOD_HEADERS_FILE",
                                  "http_proxy",         "https_proxy",
                                  "HTTPS_PROXY",        "no_proxy",
                                  "NO_PROXY",           "all_proxy",
                                  "ALL_PROXY",          "SSL_CERT_FILE",
                                  "SSL_CERT_DIR",       "CURL_CA_BUNDLE",
                                  "LD_LIBRARY_PATH",    "PATH"};

// linux/capability.h: to give a folder to the user nobody and take it back, and to become that user and end
// its process.
constexpr CapabilitySet kNeeded =
    capability(0) | capability(1) | capability(5) | capability(6) | capability(7) | capability(8);

bool is_build_id(const std::string& text) {
  return text.size() >= 8 && text.size() <= 128 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A folder that only the unprivileged process may write in; removed with its contents.
class PrivateFolder {
 public:
  PrivateFolder() {
    const char* wanted = std::getenv("TMPDIR");
    for (const std::string& parent :
         {std::string(wanted != nullptr && wanted[0] == '/' ? wanted : "/var/tmp"), std::string("/tmp")}) {
      std::string name = parent + "/fathom-debuginfod-XXXXXX";
      if (::mkdtemp(name.data()) == nullptr) continue;
      path_ = name;
      if (::geteuid() != 0 || ::chown(path_.c_str(), kFetchUser, kFetchUser) == 0) return;
      (void)::rmdir(path_.c_str());
      path_.clear();
    }
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The last line of what a program said, fit for a terminal.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  for (char& each : text)
    if (static_cast<unsigned char>(each) < ' ' || each == '\x7f') each = '?';
  return text;
}

Fd checked(Fd file, const std::string& build_id) {
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Fd();
  const auto elf = elf::ModuleFile::of_fd(file.get(), build_id);
  return elf && elf->elf().build_id() == build_id ? std::move(file) : Fd();
}

// The build id of the file that dwz shares between several; "" if the file needs none.
std::string shared_id_of(int file) {
  const auto module = elf::ModuleFile::of_fd(file, "debug file");
  if (!module) return {};
  const elf::Section* link = module->elf().section(".gnu_debugaltlink");
  if (link == nullptr || module->elf().is_compressed(*link)) return {};
  const auto content = module->elf().contents(*link);
  if (!content) return {};
  Cursor in(content->bytes());
  (void)in.read_c_string();
  std::string id;
  for (const std::byte byte : in.rest()) id += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return in.ok() && is_build_id(id) ? id : std::string();
}

}  // namespace

DebugFetcher::DebugFetcher(FetchOptions options, std::function<void()> on_result)
    : options_(std::move(options)),
      on_result_(std::move(on_result)),
      cache_(options_.cache_directory, options_.cache_limit_bytes),
      stop_event_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

DebugFetcher::~DebugFetcher() {
  stop();
  thread_.join();
}

bool DebugFetcher::ask(const std::string& identity) {
  if (!is_build_id(identity)) return false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    queue_.push_back(identity);
  }
  asked_.notify_one();
  return true;
}

bool DebugFetcher::is_ready(const std::string& build_id) const {
  const std::lock_guard lock(mutex_);
  return results_.contains(build_id);
}

std::optional<FetchedFile> DebugFetcher::take(const std::string& build_id) {
  const std::lock_guard lock(mutex_);
  auto node = results_.extract(build_id);
  return node ? std::optional(std::move(node.mapped())) : std::nullopt;
}

void DebugFetcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  const std::uint64_t one = 1;
  (void)!::write(stop_event_.get(), &one, sizeof(one));
  asked_.notify_one();
}

void DebugFetcher::run() {
  ::pthread_setname_np(::pthread_self(), "fathom-fetch");
  if (options_.give_up_rights) (void)keep_capabilities(kNeeded);
  for (;;) {
    std::string build_id;
    {
      std::unique_lock lock(mutex_);
      asked_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (stopped_) return;
      build_id = std::move(queue_.front());
      queue_.pop_front();
    }
    FetchedFile result = fetch(build_id);
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      results_.insert_or_assign(build_id, std::move(result));
    }
    on_result_();
  }
}

FetchedFile DebugFetcher::fetch(const std::string& build_id) {
  FetchedFile result = fetch_one(build_id);
  if (!result.file) return result;
  if (const std::string id = shared_id_of(result.file.get()); !id.empty()) {
    result.shared = std::move(fetch_one(id).file);
    result.shared_id = id;
  }
  return result;
}

FetchedFile DebugFetcher::fetch_one(const std::string& build_id) {
  FetchedFile result;
  result.path =
      options_.cache_directory.empty() ? "debuginfod:" + build_id : options_.cache_directory + "/" + build_id;
  result.file = checked(cache_.open(build_id), build_id);
  if (result.file) return result;
  const PrivateFolder folder;
  if (folder.path().empty()) {
    result.why = "no folder for a file that is fetched could be made";
    return result;
  }
  Fd file = fetch_into(folder.path(), build_id, result);
  if (!file) return result;
  result.file = checked(std::move(file), build_id);
  if (!result.file) {
    result.why = "what the server sent is not the debug file of that build id";
    return result;
  }
  if (const auto whole = elf::ModuleFile::of_fd(result.file.get(), build_id))
    cache_.save(build_id, whole->elf().bytes());
  return result;
}

Fd DebugFetcher::fetch_into(const std::string& folder, const std::string& build_id, FetchedFile& result) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    result.why = "no pipe could be made";
    return Fd();
  }
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  std::vector<std::string> environment = {"DEBUGINFOD_URLS=" + options_.urls,
                                          "DEBUGINFOD_CACHE_PATH=" + folder, "HOME=" + folder};
  for (const char* name : kPassedOn)
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  Spawn spawn;
  spawn.file(STDIN_FILENO, "/dev/null", O_RDONLY);
  spawn.descriptor(STDOUT_FILENO, theirs.get());
  spawn.descriptor(STDERR_FILENO, theirs.get());
  spawn.close_from(STDERR_FILENO + 1);
  spawn.ordinary_signals();
  spawn.own_session();
  spawn.environment(std::move(environment));
  const pid_t pid = spawn.start(options_.program, {"fathom", kFetchProcessArgument, build_id}).value_or(-1);
  theirs = Fd();
  if (pid < 0) {
    result.why = "no process to fetch it could be started";
    return Fd();
  }
  // Until the process has closed its end, which it does when it ends.
  std::string words;
  bool stopped = false;
  for (;;) {
    std::array<pollfd, 2> waits = {pollfd{ours.get(), POLLIN, 0}, pollfd{stop_event_.get(), POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) continue;
    if ((stopped = waits[1].revents != 0)) break;
    char buffer[512];
    const ssize_t size = ::read(ours.get(), buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    if (words.size() < kMostWords) words.append(buffer, static_cast<std::size_t>(size));
  }
  if (stopped) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (stopped) {
    result.why = "it was not there in time";
    return Fd();
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFetched) {
    const std::string path = folder + "/" + build_id + "/debuginfo";
    return Fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  }
  result.why = last_line(std::move(words));
  if (result.why.empty()) result.why = "the process that fetches it ended without a word";
  // debuginfod-find has one status for all that goes wrong, and says which.
  result.not_found = (WIFEXITED(status) && WEXITSTATUS(status) == kNotOnServers) ||
                     result.why.find("No such file or directory") != std::string::npos;
  return Fd();
}

}  // namespace fathom::symbolize
