#include "record/session/waits/wait_objects.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/listening_socket.h"
#include "model/parked_lock.h"

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

// Two threads that wait at futexes of their own, for one lock.
TEST(WaitObjects, LockOfParkedThreadsIsIdentifiedByItsKey) {
  static std::uint64_t lock = 0;
  model::Profile profile;
  WaitObjects objects(profile);
  sources::Waited one = futex(::getpid(), 0x1000), other = futex(::getpid(), 0x2000);
  one.lock_key = other.lock_key = reinterpret_cast<std::uint64_t>(&lock);
  const auto object = objects.find(one).object;
  EXPECT_EQ(objects.find(other).object, object);
  const model::WaitObject& row = profile.objects.at(object.value);
  EXPECT_EQ(row.address, one.lock_key);
  EXPECT_EQ(profile.strings[row.name], model::kParkedLock);
}

TEST(WaitObjects, KeyThatIsNoWritableMemoryIsNoLock) {
  static const std::uint64_t constant = 0;
  model::Profile profile;
  WaitObjects objects(profile);
  sources::Waited wait = futex(::getpid(), 0x1000);
  for (const std::uint64_t key :
       {std::uint64_t{1}, reinterpret_cast<std::uint64_t>(&constant), ~std::uint64_t{0}}) {
    wait.lock_key = key;
    EXPECT_EQ(profile.objects.at(objects.find(wait).object.value).address, 0x1000u);
  }
}

TEST(WaitObjects, LocksOfProcessesThatShareARowAreOneObject) {
  model::Profile profile;
  WaitObjects objects(profile);
  const auto one = objects.find(futex(9, 0x1000), true).object;
  EXPECT_EQ(objects.find(futex(10, 0x2000), true).object, one);
  EXPECT_EQ(profile.objects.at(one.value), (model::WaitObject{model::ObjectKind::kFutex, {}, 0, 0}));
}

TEST(WaitObjects, BeyondALimitOnlyTheKindDistinguishesObjects) {
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

TEST(WaitObjects, APollOfOneSocketIsAWaitForItsPeerOrForAnyone) {
  model::Profile profile;
  WaitObjects objects(profile);
  sources::Waited wait = with_peer(AF_INET, "10.0.0.1", 53);
  wait.state = 1;
  wait.system_call = 7;  // poll
  wait.inode = 4711;
  wait.file_mode = S_IFSOCK;
  const auto object = objects.find(wait, false).object;
  EXPECT_EQ(profile.objects.at(object.value).kind, model::ObjectKind::kSocket);
  EXPECT_EQ(profile.strings[profile.objects.at(object.value).name], "10.0.0.1:53");
  const auto name = [&] {
    return std::string(profile.strings[profile.objects.at(objects.find(wait, false).object.value).name]);
  };
  wait.peer_port = 0;
  EXPECT_EQ(name(), "port 6379, listening");
  EXPECT_TRUE(model::is_listening(profile.objects.at(objects.find(wait, false).object.value)));
  EXPECT_FALSE(model::is_listening(profile.objects.at(object.value)));
  wait.local_port = 0;
  EXPECT_EQ(objects.find(wait, false).object.value, 0u) << "no other program knows its port";
  wait.peer_port = 53;
  wait.inode = 0;
  EXPECT_EQ(objects.find(wait, false).object.value, 0u) << "a poll of several files";
}

TEST(WaitObjects, SharedMemoryWithoutAFileIsNoFile) {
  void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  model::Profile profile;
  WaitObjects objects(profile);
  const auto object = objects.page(::getpid(), reinterpret_cast<std::uint64_t>(shared), 1'000'000'000).object;
  EXPECT_EQ(profile.objects.at(object.value).kind, model::ObjectKind::kMemory);
  EXPECT_EQ(profile.strings[profile.objects.at(object.value).name], "[shared memory]");
  ::munmap(shared, 4096);
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

// As of a resolver that asked with sendto; a server may have been given such a port, too.
TEST(PeerName, SaysThatASocketWithAPortOfTheKernelHasNoPeer) {
  sources::Waited wait = with_peer(AF_INET, "", 0);
  wait.local_port = 46096;
  wait.system_call = 45;  // recvfrom
  EXPECT_EQ(peer_name(wait), "port 46096, without a peer");
  wait.system_call = 43;  // accept
  EXPECT_EQ(peer_name(wait), "port 46096, listening");
}

// A test server lets the kernel choose its port, and polls for connections.
TEST(WaitObjects, AServerListensAtAnyPortOrPath) {
  model::Profile profile;
  WaitObjects objects(profile);
  sources::Waited wait = with_peer(AF_INET, "", 0);
  wait.state = 1;
  wait.system_call = 7;  // poll
  wait.inode = 4711;
  wait.file_mode = S_IFSOCK;
  wait.local_port = 46096;
  wait.socket_listens = true;
  const model::WaitObject server = profile.objects.at(objects.find(wait).object.value);
  EXPECT_TRUE(model::is_listening(server));
  EXPECT_EQ(profile.strings[server.name], "port 46096, listening");
  wait.socket_listens = false;
  EXPECT_FALSE(model::is_listening(profile.objects.at(objects.find(wait).object.value))) << "a resolver";
  wait.peer_family = AF_UNIX;
  wait.local_port = 0;
  wait.socket_listens = true;
  const model::WaitObject local = profile.objects.at(objects.find(wait).object.value);
  EXPECT_TRUE(model::is_listening(local));
  EXPECT_EQ(profile.strings[local.name], "unix socket, listening");
}

TEST(PeerName, NamesOtherFamilies) {
  EXPECT_EQ(peer_name(with_peer(AF_UNIX, "", 0)), "unix socket");
  EXPECT_EQ(peer_name(with_peer(AF_NETLINK, "", 0)), "socket of family 16");
}

}  // namespace
}  // namespace fathom::session
