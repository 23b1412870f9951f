#include "tools/stacks/live/descriptors.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

namespace fathom::stacks {
namespace {

TEST(Descriptors, PeersOfTcpByInode) {
  const auto sockets = parse_sockets(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0\n"
      "   1: 0100007F:1F90 0200000A:01BB 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0\n"
      "   2: nonsense\n",
      false);
  ASSERT_EQ(sockets.size(), 2u);
  EXPECT_EQ(sockets.at(4711).peer_port, 0u) << "it listens";
  EXPECT_EQ(sockets.at(4711).local_port, 8080u);
  EXPECT_EQ(sockets.at(4712).peer_port, 443u);
  const std::array<std::uint8_t, 4> peer{10, 0, 0, 2};
  EXPECT_TRUE(std::equal(peer.begin(), peer.end(), sockets.at(4712).peer_address.begin()));
}

TEST(Descriptors, PeerOfAnIpv6Socket) {
  const auto sockets = parse_sockets(
      "heads\n"
      "   0: 00000000000000000000000001000000:1F90 000080FE00000000FF005450B6AD1DFE:01BB 01 0:0 0:0 0 0 0 5 1\n",
      true);
  ASSERT_EQ(sockets.size(), 1u);
  char text[INET6_ADDRSTRLEN];
  ::inet_ntop(AF_INET6, sockets.at(5).peer_address.data(), text, sizeof(text));
  EXPECT_STREQ(text, "fe80::5054:ff:fe1d:adb6");
}

TEST(Descriptors, AWaiterOfAFileLockStandsBelowItsHolder) {
  const auto locks = parse_locks(
      "1: POSIX  ADVISORY  WRITE 10 fe:01:100 0 EOF\n"
      "2: FLOCK  ADVISORY  WRITE 20 fe:01:200 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 30 fe:01:200 0 EOF\n"
      "3: OFDLCK ADVISORY  WRITE -1 fe:01:300 0 EOF\n"
      "3: -> OFDLCK ADVISORY  WRITE 30 fe:01:300 0 EOF\n"
      "broken\n");
  ASSERT_EQ(locks.size(), 5u);
  EXPECT_EQ(lock_holder(locks, 30, 200), 20);
  EXPECT_EQ(lock_holder(locks, 30, 100), std::nullopt) << "waits elsewhere";
  EXPECT_EQ(lock_holder(locks, 31, 200), std::nullopt) << "does not wait";
  EXPECT_EQ(lock_holder(locks, 30, 300), std::nullopt)
      << "of an open file, which several processes may share";
}

TEST(Descriptors, FindsThePeerOfALiveSocket) {
  const Fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(client.get(), &status), 0);
  sources::Waited wait;
  wait.pid = ::getpid();
  wait.inode = status.st_ino;
  wait.file_mode = S_IFSOCK;
  Descriptors().add_peer(wait);
  EXPECT_EQ(wait.peer_family, static_cast<std::uint32_t>(AF_INET));
  EXPECT_EQ(wait.peer_port, ntohs(address.sin_port));
}

}  // namespace
}  // namespace fathom::stacks
