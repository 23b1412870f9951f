#include "linux/metrics/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "linux/metrics/listener.h"

namespace fathom::metrics {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kGet = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::vector<Family> one_family(double value) {
  return {{"x", Type::kGauge, "", "An x.", {{"x", {}, value}}}};
}

Fd connect_to(const Address& address) {
  sockaddr_storage name{};
  socklen_t size = 0;
  if (address.is_unix()) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    std::memcpy(path.sun_path, address.path.data(), address.path.size());
    std::memcpy(&name, &path, sizeof(path));
    size = sizeof(path);
  } else {
    EXPECT_TRUE(address.fill(name, size));
  }
  Fd fd(::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0) return Fd();
  return fd;
}

void say(const Fd& fd, std::string_view text) {
  ASSERT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// Until the other side ends, or for a minute.
std::string hear(const Fd& fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    pollfd poll{fd.get(), POLLIN, 0};
    if (::poll(&poll, 1, 60'000) <= 0) return text + " (nothing came for a minute)";
    const ssize_t got = ::recv(fd.get(), buffer, sizeof(buffer), 0);
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string get(const Address& address) {
  const Fd fd = connect_to(address);
  if (!fd) return "";
  say(fd, kGet);
  return hear(fd);
}

// A client that the scheduler keeps waiting is too late, too: it asks again.
std::string get_in_the_end(const Address& address) {
  std::string text;
  for (int attempt = 0; attempt < 1000 && !text.starts_with("HTTP/1.1 200 "); ++attempt) text = get(address);
  return text;
}

std::unique_ptr<Server> serve(ServerOptions options = {{"", "127.0.0.1", 0}, ""}) {
  auto server = Server::open(std::move(options));
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

class UnixSocket : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "fathom_sock_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    address_.path = folder_ + "/s";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  Address address_;
};

TEST(MetricsServer, ServesWhatWasPublishedLast) {
  const auto server = serve();
  EXPECT_THAT(get(server->address()), StartsWith("HTTP/1.1 503 ")) << "nothing was published yet";
  server->publish(one_family(1));
  EXPECT_THAT(get(server->address()), HasSubstr("\nx 1\n"));
  server->publish(one_family(2));
  EXPECT_THAT(get(server->address()), HasSubstr("\nx 2\n"));
  EXPECT_EQ(server->served(), 2U);
  EXPECT_EQ(server->refused(), 1U);
}

TEST(MetricsServer, ServesOnTheLoopbackAddressOfVersion6) {
  const Fd six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_addr = in6addr_loopback;
  if (::bind(six.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0)
    GTEST_SKIP() << "needs IPv6, which is not there";
  const auto server = serve({{"", "::1", 0}, ""});
  server->publish(one_family(1));
  EXPECT_THAT(get(server->address()), HasSubstr("\nx 1\n"));
}

TEST(MetricsServer, ARequestInSinglePiecesIsAnswered) {
  const auto server = serve();
  server->publish(one_family(1));
  const Fd fd = connect_to(server->address());
  for (const char piece : kGet) say(fd, std::string_view(&piece, 1));
  EXPECT_THAT(hear(fd), HasSubstr("\nx 1\n"));
}

TEST(MetricsServer, SilentClientsDelayNoOthers) {
  const auto server = serve({{"", "127.0.0.1", 0}, "", 600'000'000'000});  // none of them is ended
  server->publish(one_family(1));
  const Fd silent = connect_to(server->address()), half = connect_to(server->address());
  say(half, "GET /metrics HT");
  EXPECT_THAT(get(server->address()), HasSubstr("\nx 1\n"));
  EXPECT_EQ(server->refused(), 0U);
}

TEST(MetricsServer, ClientsThatSayNothingAreEnded) {
  const auto server = serve({{"", "127.0.0.1", 0}, "", 300'000'000});
  const Fd silent = connect_to(server->address()), half = connect_to(server->address());
  // Where this comes too late it changes nothing: the answer is there.
  (void)!::send(half.get(), "GET /metrics HT", 15, MSG_NOSIGNAL);
  EXPECT_THAT(hear(silent), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(hear(half), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(server->refused(), 2U);
}

TEST(MetricsServer, GoesOnWhenItCouldNotPollForAWhile) {
  const auto server = serve();
  server->publish(one_family(1));
  ASSERT_THAT(get(server->address()), HasSubstr("\nx 1\n")) << "its thread has begun";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Fd early = connect_to(server->address());
  const rlimit none{1, before.rlim_max};  // poll() is refused with more descriptors than that
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  say(early, kGet);  // it polls again after this
  ::usleep(300'000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(hear(early), HasSubstr("\nx 1\n"));
  EXPECT_THAT(get(server->address()), HasSubstr("\nx 1\n"));
}

TEST(MetricsServer, MoreConnectionsThanItTakesEndTheOldest) {
  const auto server = serve({{"", "127.0.0.1", 0}, "", 600'000'000'000});  // no deadline helps here
  server->publish(one_family(1));
  std::vector<Fd> silent;
  for (std::size_t i = 0; i < 2 * ServerOptions{}.most_connections; ++i)
    silent.push_back(connect_to(server->address()));
  EXPECT_THAT(get(server->address()), HasSubstr("\nx 1\n"));
  EXPECT_EQ(hear(silent.front()), "");
}

TEST(MetricsServer, AClientThatNeverReadsIsEnded) {
  const auto server = serve({{"", "127.0.0.1", 0}, "", 50'000'000});
  auto many = one_family(1);
  for (int i = 0; i < 200'000; ++i) many[0].samples.push_back({"x", {{"number", std::to_string(i)}}, 1});
  server->publish(many);
  const Fd fd = connect_to(server->address());
  say(fd, kGet);
  pollfd poll{fd.get(), POLLRDHUP | POLLHUP, 0};
  EXPECT_EQ(::poll(&poll, 1, 60'000), 1);
  server->publish(one_family(1));
  EXPECT_THAT(get_in_the_end(server->address()), HasSubstr("\nx 1\n"));
}

TEST(MetricsServer, LongHeadsAreRefusedAndTheClientHearsIt) {
  const auto server = serve();
  server->publish(one_family(1));
  const Fd fd = connect_to(server->address());
  const std::string head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nA: " + std::string(20'000, 'a');
  (void)!::send(fd.get(), head.data(), head.size(), MSG_NOSIGNAL);
  EXPECT_THAT(hear(fd), StartsWith("HTTP/1.1 431 "));
}

TEST(MetricsServer, WithoutATokenItStaysOnLoopback) {
  const auto refused = Server::open({{"", "0.0.0.0", 0}, ""});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(refused.error().remedy, HasSubstr("--listen-token"));
  const auto server = serve({{"", "0.0.0.0", 0}, "0123456789abcdef"});
  server->publish(one_family(1));
  Address address = server->address();
  address.host = "127.0.0.1";
  EXPECT_THAT(get(address), StartsWith("HTTP/1.1 401 "));
  const Fd fd = connect_to(address);
  say(fd, "GET /metrics HTTP/1.1\r\nHost: me\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n");
  EXPECT_THAT(hear(fd), HasSubstr("\nx 1\n"));
}

TEST(MetricsServer, APortThatIsTakenIsRefused) {
  const auto server = serve();
  const auto second = Server::open({server->address(), ""});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("in use"));
}

TEST(MetricsServer, EndsThoughClientsAreConnected) {
  auto server = serve();
  const Fd silent = connect_to(server->address());
  server.reset();
  EXPECT_EQ(hear(silent), "");
}

TEST_F(UnixSocket, IsForThisUserAndGoesAtTheEnd) {
  {
    const auto server = serve({address_, ""});
    struct stat status {};
    ASSERT_EQ(::lstat(address_.path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    server->publish(one_family(1));
    EXPECT_THAT(get(address_), HasSubstr("\nx 1\n"));
  }
  EXPECT_FALSE(std::filesystem::exists(address_.path));
}

TEST_F(UnixSocket, AStaleOneIsReplaced) {
  {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address_.path.data(), address_.path.size());
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(address_.path)) << "as a program leaves it that was killed";
  const auto server = serve({address_, ""});
  server->publish(one_family(1));
  EXPECT_THAT(get(address_), HasSubstr("\nx 1\n"));
}

TEST_F(UnixSocket, OneWithAListenerStays) {
  const auto first = serve({address_, ""});
  first->publish(one_family(1));
  const auto second = Server::open({address_, ""});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another program listens"));
  EXPECT_THAT(get(address_), HasSubstr("\nx 1\n"));
}

TEST_F(UnixSocket, ALockHeldOnItsFolderBlocksNoOne) {
  const Fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(folder.get(), LOCK_EX), 0) << "as anybody can who may read the folder";
  const auto server = serve({address_, ""});
  server->publish(one_family(1));
  EXPECT_THAT(get(address_), HasSubstr("\nx 1\n"));
}

TEST_F(UnixSocket, OneThatThisUserMayNotOpenIsReportedAsAnothers) {
  constexpr uid_t kNobody = 65534;
  const uid_t me = ::geteuid();
  const auto first = serve({address_, ""});
  ASSERT_EQ(::chmod(address_.path.c_str(), 0), 0);
  if (me == 0) {
    ASSERT_EQ(::chown(folder_.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const auto second = Server::open({address_, ""});
  ASSERT_EQ(::seteuid(me), 0);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kPermission);
  EXPECT_THAT(second.error().message,
              HasSubstr(": a socket exists there, and this user cannot check who listens on it"));
}

TEST_F(UnixSocket, AFileThatIsNoSocketStays) {
  std::ofstream(address_.path) << "precious";
  EXPECT_FALSE(Server::open({address_, ""}));
  EXPECT_EQ(std::filesystem::file_size(address_.path), 8U);
}

TEST_F(UnixSocket, OneThatAnotherHasPutInItsPlaceStays) {
  auto server = serve({address_, ""});
  std::filesystem::remove(address_.path);
  std::ofstream(address_.path) << "somebody else's";
  server.reset();
  EXPECT_TRUE(std::filesystem::exists(address_.path));
}

// ---- answers that come later

struct Late {
  std::mutex mutex;
  std::vector<LateAnswer> waiting;
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return waiting.size();
  }
};

ServerOptions late_options(Late& late) {
  ServerOptions options{{"", "127.0.0.1", 0}, ""};
  options.late_deadline_ns = 60'000'000'000;
  options.late_handler = [&late](const Request& request, LateAnswer answer) -> std::optional<Answer> {
    if (request.target == "/now") return make_answer(200, "text/plain", "now", true);
    const std::lock_guard lock(late.mutex);
    late.waiting.push_back(std::move(answer));
    return std::nullopt;
  };
  return options;
}

TEST(LateAnswers, ComeInAnyOrderEachToItsClientAndOthersDoNotWait) {
  Late late;
  const auto server = serve(late_options(late));
  std::vector<Fd> clients;
  for (std::size_t i = 0; i < 5; ++i) {
    clients.push_back(connect_to(server->address()));
    say(clients.back(), kGet);
    while (late.count() <= i) ::usleep(1000);
  }
  const Fd other = connect_to(server->address());
  say(other, "GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(hear(other), HasSubstr("\r\n\r\nnow"));
  for (std::size_t i = clients.size(); i-- > 0;)
    late.waiting[i](make_answer(200, "text/plain", "answer " + std::to_string(i), true));
  for (std::size_t i = 0; i < clients.size(); ++i)
    EXPECT_THAT(hear(clients[i]), HasSubstr("\r\n\r\nanswer " + std::to_string(i)));
}

TEST(LateAnswers, OfAClientThatLeftAreDroppedAndThoseAfterTheServersEndHurtNothing) {
  Late late;
  auto server = serve(late_options(late));
  {
    const Fd gone = connect_to(server->address());
    say(gone, kGet);
    while (late.count() < 1) ::usleep(1000);
  }
  late.waiting[0](make_answer(200, "text/plain", "x", true));
  const Fd stays = connect_to(server->address());
  say(stays, kGet);
  while (late.count() < 2) ::usleep(1000);
  server.reset();
  EXPECT_EQ(hear(stays), "");
  late.waiting[1](make_answer(200, "text/plain", "x", true));
}

TEST(LateAnswers, ThatDoNotComeInTimeAreAnError) {
  Late late;
  ServerOptions options = late_options(late);
  options.late_deadline_ns = 50'000'000;
  const auto server = serve(std::move(options));
  EXPECT_THAT(get(server->address()), StartsWith("HTTP/1.1 408 "));
}

}  // namespace
}  // namespace fathom::metrics
