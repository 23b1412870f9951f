#include "linux/metrics/http_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HttpUrl, ReadsEveryPart) {
  const HttpUrl url =
      parse_http_url("https://me%40here:p%3As%2Fs@db.example.org:8443/a/b?x=1&y=%20#part").value();
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "db.example.org");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.target, "/a/b?x=1&y=%20");
  EXPECT_EQ(url.user, "me@here");
  EXPECT_EQ(url.password, "p:s/s");
  EXPECT_EQ(url.text(), "https://db.example.org:8443/a/b");
}

TEST(HttpUrl, WhatIsLeftOutHasItsDefault) {
  EXPECT_EQ(parse_http_url("http://h").value().port, 80);
  EXPECT_EQ(parse_http_url("https://h").value().port, 443);
  EXPECT_EQ(parse_http_url("http://h?x=1").value().target, "/?x=1");
  EXPECT_EQ(parse_http_url("http://u@h").value().password, "");
  EXPECT_EQ(parse_http_url("http://[::1]:9/").value().authority(), "[::1]:9");
  EXPECT_EQ(parse_http_url("unix:/run/x").value().socket, "/run/x");
}

TEST(HttpUrl, AnythingElseIsRefusedWithoutItsPassword) {
  for (const char* text : {"", "h", "ftp://u:secret@h/", "http://", "http://u:secret@",
                           "http://u:secret@h:0/", "http://u:secret@h:70000/", "http://u:secret@h:12x/",
                           "http://u:secret@h /", "http://u:secret@h/\r\nHost: x", "http://u:sec%zzret@h/",
                           "http://u:secret@-option/", "http://u:secret@[::1/", "http://u:secret@[nonsense]/",
                           "http://u:sec/secret@h/", "http://u:secret@h:80:80/"}) {
    const auto url = parse_http_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(url.error().message, Not(HasSubstr("secret"))) << text;
  }
}

TEST(HttpUrl, EncodingAndDecodingGivesTheSameBytes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  std::string back;
  ASSERT_TRUE(percent_decode(percent_encode(all), back));
  EXPECT_EQ(back, all);
  EXPECT_EQ(percent_encode("a b/c"), "a%20b%2Fc");
  for (const char* text : {"%", "%1", "%g0", "a%0"}) EXPECT_FALSE(percent_decode(text, back)) << text;
}

TEST(HttpUrl, Base64OfTheStandard) {  // RFC 4648, section 10
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

TEST(HttpUrl, ParametersOfAQueryAreDecodedOneByOne) {
  std::string seen;
  const auto take = [&](const std::string& key, const std::string& value) -> Result<> {
    seen += "[" + key + "|" + value + "]";
    if (key == "no") return fail(ErrorKind::kUsage, "no such key");
    return {};
  };
  EXPECT_TRUE(for_each_parameter("a=1&b%26=x%3Dy&alone&=v", "a=1", take));
  EXPECT_EQ(seen, "[a|1][b&|x=y][alone|][|v]");
  EXPECT_TRUE(for_each_parameter("", "a=1", take));
  EXPECT_FALSE(for_each_parameter("no=1&a=2", "a=1", take));
  EXPECT_EQ(seen, "[a|1][b&|x=y][alone|][|v][no|1]") << "nothing is asked after an error";
  const Result<> bad = for_each_parameter("a=%2", "a=1", take);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().remedy, "a=1");
}

}  // namespace
}  // namespace fathom::metrics
