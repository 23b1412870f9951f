#include "linux/metrics/address.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace fathom::metrics {
namespace {

TEST(MetricsAddress, NumericAddressesWithAPortAndUnixSockets) {
  EXPECT_EQ(parse_address("127.0.0.1:9101").value(), (Address{"", "127.0.0.1", 9101}));
  EXPECT_EQ(parse_address("localhost:9101").value().host, "127.0.0.1");
  EXPECT_EQ(parse_address("[::1]:0").value(), (Address{"", "::1", 0}));
  EXPECT_EQ(parse_address("unix:/run/x.sock").value(), (Address{"/run/x.sock", "", 0}));
  EXPECT_EQ(parse_address("[::1]:9101").value().to_string(), "[::1]:9101");
}

TEST(MetricsAddress, AnythingElseIsRefused) {
  for (const char* text :
       {"", ":", "9101", ":9101", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:9101",
        "example.org:80", "127.0.0.1:80/metrics", "unix:", "[127.0.0.1", "127.1:80"})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_FALSE(parse_address("unix:" + std::string(108, 'x')));
}

TEST(MetricsAddress, LoopbackIsWhatNoOtherMachineReaches) {
  for (const char* text : {"127.0.0.1:1", "127.255.3.4:1", "[::1]:1", "unix:x"})
    EXPECT_TRUE(parse_address(text).value().is_loopback()) << text;
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "[::ffff:127.0.0.1]:1"})
    EXPECT_FALSE(parse_address(text).value().is_loopback()) << text;
}

class Token : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "fathom_token_XXXXXX";
    ::close(::mkstemp(path_.data()));
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }
  std::string path_;
};

TEST_F(Token, IsTheFirstLineOfAPrivateFile) {
  write("0123456789abcdef0123\nsecond line\n");
  EXPECT_EQ(read_token(path_).value(), "0123456789abcdef0123");
}

TEST_F(Token, AFileThatOthersReadIsRefused) {
  write("0123456789abcdef0123\n", 0640);
  ASSERT_FALSE(read_token(path_));
  EXPECT_NE(read_token(path_).error().message.find("can be read by others"), std::string::npos);
}

TEST_F(Token, NoRemedyWritesToTheFileThatIsThere) {
  write("a line of a file that is no token\n");
  const auto wrong = read_token(path_);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().remedy.find(path_), std::string::npos) << wrong.error().remedy;
  const std::string link = path_ + ".link";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  const auto linked = read_token(link);
  ::unlink(link.c_str());
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message.find("it is a link"), std::string::npos) << linked.error().message;
  EXPECT_EQ(linked.error().remedy, "the file itself");
}

TEST_F(Token, AShortOneAndOneWithBlanksIsRefused) {
  write("short\n");
  EXPECT_FALSE(read_token(path_));
  write("0123456789 abcdef\n");
  EXPECT_FALSE(read_token(path_));
  write(std::string(1025, 'x'));
  EXPECT_FALSE(read_token(path_));
}

TEST_F(Token, ALinkAFolderAndWhatIsNotThereIsRefused) {
  write("0123456789abcdef0123\n");
  const std::string link = path_ + ".link";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_FALSE(read_token(link));
  ::unlink(link.c_str());
  EXPECT_FALSE(read_token(testing::TempDir()));
  EXPECT_FALSE(read_token(path_ + ".none"));
}

TEST(EqualInConstantTime, OnlyTheSameTextIsEqual) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  for (const char* given : {"", "secre", "secrets", "Secret", "secretsecret"})
    EXPECT_FALSE(equal_in_constant_time(given, "secret")) << given;
  EXPECT_FALSE(equal_in_constant_time("x", ""));
}

}  // namespace
}  // namespace fathom::metrics
