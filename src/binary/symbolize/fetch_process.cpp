#include "binary/symbolize/fetch_process.h"

#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/capabilities.h"
#include "binary/symbolize/loaded_library.h"

namespace fathom::symbolize {
namespace {

constexpr rlim_t kLargestFile = rlim_t{16} << 30;  // bytes; a browser with all its debug information has four

// False: it would run with root's rights, and so must not run.
bool give_up_rights() {
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(kFetchUser, kFetchUser, kFetchUser) != 0 ||
       ::setresuid(kFetchUser, kFetchUser, kFetchUser) != 0))
    return false;
  (void)keep_capabilities(0);
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit file{kLargestFile, kLargestFile}, none{0, 0};
  (void)::setrlimit(RLIMIT_FSIZE, &file);
  (void)::setrlimit(RLIMIT_CORE, &none);
  (void)::setpriority(PRIO_PROCESS, 0, 19);
  // After the change of the user, which resets it. When the recorder is gone, the file is not needed.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return true;
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// Only the three functions that are needed, as of elfutils/debuginfod.h; that header is in no package of the build.
struct Library {
  void* (*begin)() = nullptr;
  int (*find_debuginfo)(void* client, const unsigned char* build_id, int length, char** path) = nullptr;
  void (*end)(void*) = nullptr;

  bool load() {
    void* library = load_library("libdebuginfod.so.1");
    if (library == nullptr) return false;
    begin = reinterpret_cast<decltype(begin)>(function_of_library(library, "debuginfod_begin"));
    find_debuginfo =
        reinterpret_cast<decltype(find_debuginfo)>(function_of_library(library, "debuginfod_find_debuginfo"));
    end = reinterpret_cast<decltype(end)>(function_of_library(library, "debuginfod_end"));
    return begin != nullptr && find_debuginfo != nullptr && end != nullptr;
  }
};

int ask_library(const Library& library, const char* build_id) {
  void* client = library.begin();
  if (client == nullptr) {
    say("libdebuginfod does not start");
    return kFetchFailed;
  }
  char* path = nullptr;
  const int fd = library.find_debuginfo(client, reinterpret_cast<const unsigned char*>(build_id), 0,
                                        &path);  // 0: it is text
  library.end(client);
  if (fd >= 0) return kFetched;
  say(std::strerror(-fd));
  return fd == -ENOENT ? kNotOnServers : kFetchFailed;
}

}  // namespace

int run_fetch_process(int argc, char** argv) {
  if (argc != 3) return kFetchFailed;
  const char* build_id = argv[2];
  if (std::strlen(build_id) < 8 || std::strspn(build_id, "0123456789abcdef") != std::strlen(build_id))
    return kFetchFailed;
  if (!give_up_rights()) {
    say("root could not switch to user nobody");
    return kFetchFailed;
  }
  Library library;
  if (library.load()) return ask_library(library, build_id);
  ::execlp("debuginfod-find", "debuginfod-find", "debuginfo", build_id, static_cast<char*>(nullptr));
  say("neither libdebuginfod.so.1 nor debuginfod-find is here (Debian: apt install libdebuginfod1 or debuginfod)");
  return kNoClient;
}

}  // namespace fathom::symbolize
