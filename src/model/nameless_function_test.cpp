#include "model/nameless_function.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

TEST(NamelessFunction, IsAModuleAndTheAddressAtWhichItBegins) {
  for (const char* name : {"libsqlite3.so.0.8.6@fde+0xa74f0", "libsqlite3.so.0.8.6@0xa74f0"}) {
    const auto function = nameless_function(name);
    ASSERT_TRUE(function) << name;
    EXPECT_EQ(function->module, "libsqlite3.so.0.8.6");
    EXPECT_EQ(function->address, "a74f0");
    EXPECT_EQ(short_name(*function), "libsqlite3@0xa74f0");
  }
  EXPECT_EQ(short_name(*nameless_function("redis-server@fde+0x13bf40")), "redis-server@0x13bf40");
}

TEST(NamelessFunction, OtherNamesAreNone) {
  for (const char* name : {"", "main", "malloc@plt", "memcpy@@GLIBC_2.14", "@fde+0x12", "@0x12", "x@fde+0x",
                           "x@0x", "x@0xyz", "x@fde+12", "[libc.so.6+0x10]"})
    EXPECT_FALSE(nameless_function(name)) << name;
}

TEST(NamelessFunction, ShortNamesStayShort) {
  EXPECT_EQ(short_name(*nameless_function(short_name(*nameless_function("lib.so.1@fde+0x10")))), "lib@0x10");
}

}  // namespace
}  // namespace fathom::model
