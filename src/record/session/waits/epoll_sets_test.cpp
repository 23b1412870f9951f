#include "record/session/waits/epoll_sets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/fd.h"

namespace fathom::session {
namespace {

TEST(EpollSets, TargetsAreTheLinesOfTheSet) {
  const std::string text =
      "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\ntfd:        5 events:       19 data:      5  pos:0 ino:421 sdev:1\n"
      "tfd:       12 events:       1d data:      c  pos:0 ino:7f sdev:8\ntfd: x\ntfd:";
  EXPECT_EQ(parse_epoll_targets(text, 10), (std::vector<std::uint32_t>{5, 12}));
  EXPECT_EQ(parse_epoll_targets(text, 1), (std::vector<std::uint32_t>{5}));
  for (std::size_t size = 0; size <= text.size(); ++size)
    EXPECT_LE(parse_epoll_targets(text.substr(0, size), 10).size(), 2u);
}

// By address, whether it is of IPv4 or of IPv6 makes no difference: only the ports count.
TEST(EpollSets, ASocketIsAcceptedIfAnotherOneListensAtItsPort) {
  const std::string text =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0\n"
      "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0\n"
      "   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 103 1 0\n"
      "   3: 0100007F:C351 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0\n";
  using enum SocketRole;
  EXPECT_EQ(parse_socket_roles(text),
            (std::map<std::uint64_t, SocketRole>{{101, kListening}, {102, kAccepted}, {103, kConnected}}));
  for (std::size_t size = 0; size <= text.size(); ++size)
    EXPECT_LE(parse_socket_roles(text.substr(0, size)).size(), 3u);
}

TEST(EpollSets, OfUnixSocketsOnlyAcceptedOnesHaveAPath) {
  const std::string text =
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "00000000: 00000002 00000000 00010000 0001 01   200 /run/x.sock\n"
      "00000000: 00000003 00000000 00000000 0001 03   310 /run/x.sock\n"
      "00000000: 00000003 00000000 00000000 0001 03   305\n"
      "00000000: 00000003 00000000 00000000 0001 03   400\n"
      "00000000: 00000003 00000000 00000000 0001 03   401\n"
      "00000000: 00000002 00000000 00000000 0002 01   500 /run/log\n";
  using enum SocketRole;
  EXPECT_EQ(parse_unix_roles(text), (std::map<std::uint64_t, SocketRole>{{200, kListening},
                                                                         {310, kAccepted},
                                                                         {305, kConnected},
                                                                         {400, kPair},
                                                                         {401, kPair},
                                                                         {500, kListening}}));
}

// The descriptors of this process, looked at as those of any other.
class LiveEpoll {
 public:
  void add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    ASSERT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), 0);
  }
  model::EpollSet seen() {
    model::Profile profile;
    model::WaitObject object;
    object.kind = model::ObjectKind::kPoll;
    object.address = static_cast<std::uint64_t>(epoll_.get());
    object.pid = ::getpid();
    profile.objects.push_back(object);
    EpollSets sets;
    sets.update(profile);
    return model::epoll_set_of(profile.meta.facts[model::epoll_set_fact(object.pid, object.address)]);
  }

 private:
  Fd epoll_{::epoll_create1(0)};
};

TEST(EpollSets, OfALiveProcessShowWhoConnectedToWhom) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Fd client(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  const Fd accepted(::accept(listener.get(), nullptr, nullptr));
  const Fd timer(::timerfd_create(CLOCK_MONOTONIC, 0)), event(::eventfd(0, 0));
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const Fd first(pair[0]), second(pair[1]);

  LiveEpoll asks, serves, ticks;
  asks.add(client.get());
  asks.add(event.get());
  asks.add(first.get());
  EXPECT_EQ(asks.seen(), (model::EpollSet{.connected = 1, .wakers = 1, .others = 1}));
  EXPECT_TRUE(asks.seen().asks());
  serves.add(listener.get());
  serves.add(accepted.get());
  serves.add(client.get());
  EXPECT_EQ(serves.seen(), (model::EpollSet{.connected = 1, .accepted = 1, .listening = 1}));
  EXPECT_FALSE(serves.seen().asks());
  ticks.add(timer.get());
  EXPECT_TRUE(ticks.seen().has_timers_only());
  EXPECT_EQ(LiveEpoll().seen(), model::EpollSet{});
}

}  // namespace
}  // namespace fathom::session
