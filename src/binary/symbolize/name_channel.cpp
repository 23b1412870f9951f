#include "binary/symbolize/name_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fathom::symbolize {
namespace {

constexpr std::size_t kMostFiles = 4;
constexpr int kAskEveryMs = 100;

}  // namespace

bool NameChannel::wait(short events, const GoOn& go_on) const {
  for (;;) {
    pollfd poll_fd{socket_.get(), events, 0};
    const int ready = ::poll(&poll_fd, 1, kAskEveryMs);
    if (ready > 0) return true;  // or an end, which the next call finds
    if (ready < 0 && errno != EINTR) return false;
    if (go_on && !go_on()) return false;
  }
}

bool NameChannel::send(FrameKind kind, std::span<const std::byte> bytes, std::span<const int> files,
                       const GoOn& go_on) {
  FrameHead head;
  head.size = static_cast<std::uint32_t>(bytes.size());
  head.kind = kind;
  Bytes frame(sizeof(head) + bytes.size());
  std::memcpy(frame.data(), &head, sizeof(head));
  if (!bytes.empty()) std::memcpy(frame.data() + sizeof(head), bytes.data(), bytes.size());
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFiles * sizeof(int))] = {};
  std::span<const int> beside = files.first(std::min(files.size(), kMostFiles));
  for (std::size_t done = 0; done < frame.size();) {
    iovec part{frame.data() + done, frame.size() - done};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!beside.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(beside.size_bytes());
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(beside.size_bytes());
      std::memcpy(CMSG_DATA(rights), beside.data(), beside.size_bytes());
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
      beside = {};  // they went with the first bytes
    } else if (errno == EAGAIN) {
      if (!wait(POLLOUT, go_on)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool NameChannel::read_all(std::span<std::byte> bytes, std::vector<Fd>& files, const GoOn& go_on) {
  while (!bytes.empty()) {
    alignas(cmsghdr) char control[CMSG_SPACE(kMostFiles * sizeof(int))];
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (files_ == Files::kTaken) {  // without room for them, the kernel closes what is sent
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
    }
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN || !wait(POLLIN, go_on)) return false;
      continue;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr;
         rights = CMSG_NXTHDR(&message, rights)) {
      if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
      for (std::size_t at = 0; at + sizeof(int) <= rights->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights) + at, sizeof(fd));
        files.emplace_back(fd);
      }
    }
  }
  return true;
}

std::optional<Frame> NameChannel::receive(std::size_t largest, const GoOn& go_on) {
  FrameHead head;
  Frame frame;
  if (!read_all(std::as_writable_bytes(std::span(&head, 1)), frame.files, go_on) || head.size > largest)
    return std::nullopt;
  frame.kind = head.kind;
  // What has come, and not what is claimed to come, decides what is allocated.
  constexpr std::size_t kStep = 1 << 20;
  while (frame.bytes.size() < head.size) {
    const std::size_t before = frame.bytes.size();
    frame.bytes.resize(std::min<std::size_t>(head.size, before + kStep));
    if (!read_all(std::span(frame.bytes).subspan(before), frame.files, go_on)) return std::nullopt;
  }
  return frame;
}

}  // namespace fathom::symbolize
