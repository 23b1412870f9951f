// The other end of NameProcess: reads the target's files without a right of its own, and answers one question
// after the other.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/parse.h"
#include "binary/symbolize/confinement.h"
#include "binary/symbolize/file_symbols.h"
#include "binary/symbolize/name_process.h"
#include "binary/symbolize/named_ranges.h"

namespace fathom::symbolize {
namespace {

constexpr std::size_t kLongestPath = 4095;

int g_socket = -1;
const char* g_path = nullptr;  // of the file that the request at hand is about

bool send_whole(const void* data, std::size_t size) {
  const auto* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(g_socket, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    next += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// In the handler of a refused open(): nothing here allocates. The parent is waiting for our answer, so it is
// listening.
int ask_for_file(const char* path) {
  const std::size_t length = ::strnlen(path, kLongestPath + 1);
  if (length > kLongestPath) return -1;
  const FrameHead question{static_cast<std::uint32_t>(length), FrameKind::kOpenFile};
  if (!send_whole(&question, sizeof(question)) || !send_whole(path, length)) ::_exit(1);
  FrameHead head;
  iovec part{&head, sizeof(head)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = 0;
  while ((got = ::recvmsg(g_socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL)) < 0 && errno == EINTR) {
  }
  if (got != sizeof(head) || head.kind != FrameKind::kFile || head.size != 0) ::_exit(1);
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
  return fd;
}

const char* path_of_file() {
  return g_path;
}

class Reader {
 public:
  NameAnswer answer(const NameRequest& request, std::vector<Fd> files) {
    NameAnswer answer;
    Module& module = modules_[request.module];
    g_path = module.path.c_str();
    try {
      if (const auto* open = std::get_if<OpenModule>(&request.what)) {
        module.symbols.reset();
        module.path = open->pointed_from;
        g_path = module.path.c_str();
        files.resize(2);
        module.symbols = FileSymbols::of_files(open->path, std::move(files[0]), open->debug_path,
                                               std::move(files[1]), open->inlines, {"", open->pointed_from});
      } else if (const auto* map = std::get_if<OpenPerfMap>(&request.what)) {
        module.symbols.reset();
        files.resize(1);
        module.symbols = PerfMapSymbols::of_file(map->path, files[0]);
      } else if (const auto* resolve = std::get_if<ResolveNames>(&request.what)) {
        if (module.symbols)
          answer.names = module.symbols->resolve(resolve->addresses);
        else
          answer.names.resize(resolve->addresses.size());
      } else if (const auto* places = std::get_if<ResolvePlaces>(&request.what)) {
        if (module.symbols)
          answer.places = module.symbols->resolve_places(places->addresses);
        else
          answer.places.resize(places->addresses.size());
      } else if (module.symbols && std::holds_alternative<CheckFiles>(request.what)) {
        module.symbols->check();
      } else if (module.symbols) {
        module.symbols->release_memory();
      }
      if (module.symbols) {
        answer.source = module.symbols->source();
        answer.problem = module.symbols->problem();
        answer.stamp = module.symbols->stamp();
        answer.main_crate = module.symbols->main_crate();
        answer.compilers = module.symbols->compilers();
        answer.releasable_bytes = module.symbols->releasable_bytes();
      }
    } catch (const std::bad_alloc&) {
      module.symbols.reset();
      answer = {};
      answer.out_of_memory = true;
      if (const auto* resolve = std::get_if<ResolveNames>(&request.what))
        answer.names.resize(resolve->addresses.size());
      if (const auto* places = std::get_if<ResolvePlaces>(&request.what))
        answer.places.resize(places->addresses.size());
    }
    return answer;
  }

 private:
  struct Module {
    std::string path;
    std::unique_ptr<ModuleSymbols> symbols;
  };
  std::unordered_map<std::uint32_t, Module> modules_;
};

}  // namespace

int run_name_process(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto socket = parse_number(argv[2]), memory = parse_number(argv[3]);
  if (!socket || !memory) return 2;
  g_socket = static_cast<int>(*socket);
  sockaddr address{};
  socklen_t size = sizeof(address);
  if (::getsockname(g_socket, &address, &size) != 0 || address.sa_family != AF_UNIX) return 2;

  Confinement confinement;
  confinement.memory_bytes = *memory;
  confine_process(confinement);
  // After the change of the user, which forgets it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  filter_system_calls(ask_for_file, path_of_file);

  NameChannel channel{Fd(g_socket), NameChannel::Files::kTaken};
  if (!channel.send(FrameKind::kReady, {}, {}, nullptr)) return 1;
  Reader reader;
  while (auto frame = channel.receive(kLargestNameMessage, nullptr)) {
    if (frame->kind != FrameKind::kRequest) return 1;
    const auto request = decode_request(frame->bytes);
    if (!request) return 1;
    if (!channel.send(FrameKind::kAnswer, encode_answer(reader.answer(*request, std::move(frame->files))), {},
                      nullptr))
      return 1;
  }
  return 0;
}

}  // namespace fathom::symbolize
