#include "session/waits/wait_objects.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace fathom::session {
namespace {

sources::Waited with_peer(int family, const char* address, std::uint32_t port) {
  sources::Waited wait;
  wait.peer_family = static_cast<std::uint32_t>(family);
  wait.peer_port = port;
  wait.local_port = 6379;
  if (*address != 0) {
    EXPECT_EQ(::inet_pton(family, address, wait.peer_address.data()), 1);
  }
  return wait;
}

TEST(PeerName, IsAddressAndPort) {
  EXPECT_EQ(peer_name(with_peer(AF_INET, "10.0.0.1", 443)), "10.0.0.1:443");
  EXPECT_EQ(peer_name(with_peer(AF_INET6, "fe80::1", 443)), "[fe80::1]:443");
}

TEST(PeerName, OfASocketOfBothFamiliesIsTheIPv4Address) {
  EXPECT_EQ(peer_name(with_peer(AF_INET6, "::ffff:10.0.0.1", 8545)), "10.0.0.1:8545");
}

TEST(PeerName, SaysWhereASocketWithoutAPeerListens) {
  EXPECT_EQ(peer_name(with_peer(AF_INET, "", 0)), "port 6379, listening");
  EXPECT_EQ(peer_name(with_peer(AF_INET6, "", 0)), "port 6379, listening");
}

TEST(PeerName, NamesOtherFamilies) {
  EXPECT_EQ(peer_name(with_peer(AF_UNIX, "", 0)), "unix socket");
  EXPECT_EQ(peer_name(with_peer(AF_NETLINK, "", 0)), "socket of family 16");
}

}  // namespace
}  // namespace fathom::session
