#include "tools/clickhouse/location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace fathom::clickhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ClickHouseLocation, ReadsServerDatabaseAndChoice) {
  const Location location =
      parse_location(
          "clickhouse://me:p%40ss@db:9000/prof?service=my%20app&host=a,b&version=1&metric=off-cpu&from=-1h&until=now&cluster=fleet")
          .value();
  EXPECT_EQ(location.server.text(), "http://db:9000/");
  EXPECT_EQ(location.server.user, "me");
  EXPECT_EQ(location.server.password, "p@ss");
  EXPECT_EQ(location.database, "prof");
  EXPECT_EQ(location.service, "my app");
  EXPECT_THAT(location.hosts, ElementsAre("a", "b"));
  EXPECT_THAT(location.versions, ElementsAre("1"));
  EXPECT_EQ(location.metric, "off-cpu");
  EXPECT_EQ(location.from, "-1h");
  EXPECT_EQ(location.until, "now");
  EXPECT_EQ(location.cluster, "fleet");
}

TEST(ClickHouseLocation, HostsAreChosenAndLeftOut) {
  const Location others = parse_location("clickhouse://h?host=!a,b,!c,!").value();
  EXPECT_THAT(others.hosts, ElementsAre("b"));
  EXPECT_THAT(others.other_hosts, ElementsAre("a", "c"));
  // A comparison by hosts adds one host to what the user wrote.
  const Location one = parse_location("clickhouse://h?host=!a&host=d").value();
  EXPECT_THAT(one.hosts, ElementsAre("d"));
  EXPECT_THAT(one.other_hosts, ElementsAre("a"));
}

TEST(ClickHouseLocation, PortsAndDatabaseHaveDefaults) {
  EXPECT_EQ(parse_location("clickhouse://h").value().server.port, 8123);
  EXPECT_EQ(parse_location("clickhouse://h:80/x").value().server.port, 80);
  EXPECT_EQ(parse_location("clickhouse://h").value().database, "default");
  const Location tls = parse_location("clickhouse+https://h?service=s").value();
  EXPECT_TRUE(tls.server.tls);
  EXPECT_EQ(tls.server.port, 8443);
  EXPECT_EQ(tls.service, "s");
}

TEST(ClickHouseLocation, TheLoginMayComeFromTheEnvironment) {
  ::setenv("CLICKHOUSE_PASSWORD", "hidden", 1);
  EXPECT_EQ(parse_location("clickhouse://h").value().server.user, "default");
  EXPECT_EQ(parse_location("clickhouse://h").value().server.password, "hidden");
  EXPECT_EQ(parse_location("clickhouse://u:p@h").value().server.password, "p");
  EXPECT_EQ(parse_location("clickhouse://u@h").value().server.password, "hidden");
  EXPECT_EQ(parse_location("clickhouse://u@h").value().server.user, "u");
  ::unsetenv("CLICKHOUSE_PASSWORD");
  EXPECT_EQ(parse_location("clickhouse://h").value().server.user, "");
}

TEST(ClickHouseLocation, AnythingElseIsRefusedWithoutItsPassword) {
  for (const char* text :
       {"", "http://u:secret@h", "clickhouse://", "clickhouse://u:secret@h/a/b",
        "clickhouse://u:secret@h/a;b", "clickhouse://u:secret@h/1a", "clickhouse://u:secret@h/%zz",
        "clickhouse://u:secret@h?what=x", "clickhouse://u:secret@h?cluster=a-b",
        "clickhouse://u:secret@h?metric=love", "clickhouse://u:secret@h?host=%z"}) {
    const auto location = parse_location(text);
    ASSERT_FALSE(location) << text;
    EXPECT_EQ(location.error().kind, ErrorKind::kUsage) << text;
    EXPECT_THAT(location.error().message, Not(HasSubstr("secret"))) << text;
  }
}

}  // namespace
}  // namespace fathom::clickhouse
