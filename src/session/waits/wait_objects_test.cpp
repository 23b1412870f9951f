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

sources::Waited futex(std::int32_t pid, std::uint64_t address) {
  sources::Waited wait;
  wait.pid = wait.tid = pid;
  wait.state = 1;
  wait.system_call = 202;
  wait.arguments[0] = address;
  return wait;
}

TEST(WaitObjects, LockOfAProcessWhoseNumberIsUsedAgainIsAnotherOne) {
  model::Profile profile;
  WaitObjects objects(profile);
  const auto first = objects.find(futex(9, 0x1000)).object;
  EXPECT_EQ(objects.find(futex(9, 0x1000)).object, first);
  objects.forget(9);
  EXPECT_NE(objects.find(futex(9, 0x1000)).object, first);
}

TEST(WaitObjects, LocksOfProcessesThatShareARowAreOneObject) {
  model::Profile profile;
  WaitObjects objects(profile);
  const auto one = objects.find(futex(9, 0x1000), true).object;
  EXPECT_EQ(objects.find(futex(10, 0x2000), true).object, one);
  EXPECT_EQ(profile.objects.at(one.value), (model::WaitObject{model::ObjectKind::kFutex, {}, 0, 0}));
}

TEST(WaitObjects, BeyondALimitObjectsAreToldApartByTheirKindOnly) {
  model::Profile profile;
  WaitObjects objects(profile);
  const auto known = objects.find(futex(9, 0x10)).object;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    sources::Waited client = with_peer(AF_INET, "10.0.0.1", static_cast<std::uint32_t>(1 + i % 60'000));
    client.peer_address[1] = static_cast<std::uint8_t>(i / 60'000);
    client.pid = 9;
    client.state = 1;
    client.system_call = 0;  // read
    client.inode = 5;
    client.file_mode = 0140000;
    const auto object = objects.find(client).object;
    EXPECT_EQ(profile.objects.at(object.value).kind, model::ObjectKind::kSocket);
  }
  EXPECT_LE(profile.objects.size(), 100'010u);
  EXPECT_LE(profile.strings.size(), 100'010u);
  EXPECT_EQ(objects.find(futex(9, 0x10)).object, known);
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
