#include "tools/pyroscope/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace fathom::pyroscope {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PyroscopeQuery, HasServerTypeLabelsAndTime) {
  const Query query =
      parse_query(
          "pyroscope://me:secret@db:99/base?query=wall:wall:nanoseconds:wall:nanoseconds{service_name=\"a%26b\",host=~\"w.*\"}&from=-2h&until=now&tenant=t")
          .value();
  EXPECT_EQ(query.server.text(), "http://db:99/base");
  EXPECT_EQ(query.server.password, "secret");
  EXPECT_EQ(query.type, "wall:wall:nanoseconds:wall:nanoseconds");
  EXPECT_EQ(query.selector, "{service_name=\"a&b\",host=~\"w.*\"}");
  EXPECT_EQ(query.from, "-2h");
  EXPECT_EQ(query.until, "now");
  EXPECT_EQ(query.tenant, "t");
}

TEST(PyroscopeQuery, AServiceIsEnough) {
  const Query query = parse_query("pyroscope://db?service=my \"app\"").value();
  EXPECT_EQ(query.server.port, 4040);
  EXPECT_EQ(query.type, "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
  EXPECT_EQ(query.selector, "{service_name=\"my \\\"app\\\"\"}");
  const Query waits = parse_query("pyroscope+https://db?service=a&host=w&metric=off-cpu").value();
  EXPECT_TRUE(waits.server.tls);
  EXPECT_EQ(waits.type, "off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds");
  EXPECT_EQ(waits.selector, "{service_name=\"a\",host=\"w\"}");
}

TEST(PyroscopeQuery, LabelsAloneAreOfCpuTime) {
  EXPECT_EQ(parse_query("pyroscope://db?query={namespace=\"x\"}").value().type,
            "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
}

TEST(PyroscopeQuery, TheLoginMayComeFromTheEnvironment) {
  ::setenv("PYROSCOPE_PASSWORD", "hidden", 1);
  EXPECT_EQ(parse_query("pyroscope://u@db?service=a").value().server.user, "u");
  EXPECT_EQ(parse_query("pyroscope://u@db?service=a").value().server.password, "hidden");
  EXPECT_EQ(parse_query("pyroscope://u:p@db?service=a").value().server.password, "p");
  ::setenv("PYROSCOPE_USER", "me", 1);
  EXPECT_EQ(parse_query("pyroscope+https://db?service=a").value().server.user, "me");
  EXPECT_EQ(parse_query("pyroscope+https://db?service=a").value().server.password, "hidden");
  ::unsetenv("PYROSCOPE_PASSWORD");
  ::unsetenv("PYROSCOPE_USER");
  EXPECT_EQ(parse_query("pyroscope://db?service=a").value().server.user, "");
}

TEST(PyroscopeQuery, AnythingElseIsRefusedWithoutItsPassword) {
  for (const char* text :
       {"pyroscope://", "pyroscope://u:secret@db", "pyroscope://u:secret@db?what=x",
        "pyroscope://u:secret@db?service=a&metric=love", "pyroscope://u:secret@db?query=cpu{a=\"b\"}",
        "pyroscope://u:secret@db?query=a:b:c:d:e", "pyroscope://u:secret@db?service=%z",
        "pyroscope://u:secret@db?query={a=\"b\"}&service=x"}) {
    const auto query = parse_query(text);
    ASSERT_FALSE(query) << text;
    EXPECT_EQ(query.error().kind, ErrorKind::kUsage) << text;
    EXPECT_THAT(query.error().message, Not(HasSubstr("secret"))) << text;
  }
}

}  // namespace
}  // namespace fathom::pyroscope
