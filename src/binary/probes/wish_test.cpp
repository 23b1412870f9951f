#include "binary/probes/wish.h"

#include <gtest/gtest.h>

namespace fathom::probes {
namespace {

TEST(ProbeWish, IsAFunctionAloneOrOneOfAModule) {
  EXPECT_EQ(parse_wish("mdb_put").value(), (Wish{.function = "mdb_put"}));
  EXPECT_EQ(parse_wish("write@libc.so.6").value(), (Wish{.function = "write", .module = "libc.so.6"}));
}

TEST(ProbeWish, MayNameTheSizeOfACall) {
  EXPECT_EQ(parse_wish("f:arg3").value(),
            (Wish{.function = "f", .size = SizeFrom::kArgument, .argument = 3}));
  EXPECT_EQ(parse_wish("f@m:arg4+0").value(),
            (Wish{.function = "f", .module = "m", .size = SizeFrom::kPointed, .argument = 4}));
  EXPECT_EQ(parse_wish("f:arg1+0x10").value(),
            (Wish{.function = "f", .size = SizeFrom::kPointed, .argument = 1, .offset = 16}));
  EXPECT_EQ(parse_wish("f:ret").value(), (Wish{.function = "f", .size = SizeFrom::kResult}));
}

TEST(ProbeWish, TakesTheColonsOfANameForPartsOfIt) {
  EXPECT_EQ(parse_wish("db::Table::ret").value(), (Wish{.function = "db::Table::ret"}));
  EXPECT_EQ(parse_wish("db::Table::put(int):arg2").value(),
            (Wish{.function = "db::Table::put(int)", .size = SizeFrom::kArgument, .argument = 2}));
}

TEST(ProbeWish, MayNameAStaticProbe) {
  EXPECT_EQ(parse_wish("otel_memory:alloc").value(), (Wish{.function = "alloc", .provider = "otel_memory"}));
  EXPECT_EQ(parse_wish("otel_memory:alloc@libx.so:arg12").value(), (Wish{.function = "alloc",
                                                                         .provider = "otel_memory",
                                                                         .module = "libx.so",
                                                                         .size = SizeFrom::kArgument,
                                                                         .argument = 12}));
  // What is no size is the name of a probe.
  EXPECT_EQ(parse_wish("f:size").value(), (Wish{.function = "size", .provider = "f"}));
  EXPECT_EQ(parse_wish("libc:argument").value(), (Wish{.function = "argument", .provider = "libc"}));
}

TEST(ProbeWish, IsRefusedWhereItMeansNothing) {
  for (const char* text :
       {"", "@libc.so.6", "f@", "f:", "f:arg", "f:arg0", "f:arg7", "f:arg1+", "f:arg1-8", "f:arg1+x", ":size",
        "f:ret+8", "a:b:ret", "a:b:arg1+8", "a:b:arg13", "a:b@", ":ret", "f:arg1+99999999"}) {
    const auto wish = parse_wish(text);
    ASSERT_FALSE(wish) << text;
    EXPECT_EQ(wish.error().kind, ErrorKind::kUsage) << text;
  }
}

TEST(SpanWish, IsACallOfAFunction) {
  EXPECT_EQ(parse_span("newPayload=on_new_payload@node").value(),
            std::vector({Wish{.function = "on_new_payload", .module = "node", .span = "newPayload"}}));
  EXPECT_EQ(parse_span("commit").value(), std::vector({Wish{.function = "commit", .span = "commit"}}));
}

TEST(SpanWish, MayBeginAndEndWithCallsOfTwoFunctions) {
  EXPECT_EQ(parse_span("txn=mdb_txn_begin..mdb::Txn::abort@libmdb.so").value(),
            std::vector({Wish{.function = "mdb_txn_begin", .span = "txn", .part = SpanPart::kBegin},
                         Wish{.function = "mdb::Txn::abort",
                              .module = "libmdb.so",
                              .span = "txn",
                              .part = SpanPart::kEnd}}));
  const auto keyed = parse_span("request=app:begin:arg2..finish:arg1+8").value();
  ASSERT_EQ(keyed.size(), 2u);
  EXPECT_EQ(keyed[0], (Wish{.function = "begin",
                            .provider = "app",
                            .size = SizeFrom::kArgument,
                            .argument = 2,
                            .span = "request",
                            .part = SpanPart::kBegin}));
  EXPECT_EQ(keyed[1], (Wish{.function = "finish",
                            .size = SizeFrom::kPointed,
                            .argument = 1,
                            .offset = 8,
                            .span = "request",
                            .part = SpanPart::kEnd}));
}

TEST(SpanWish, IsRefusedWhereItMeansNothing) {
  for (const char* text : {"", "=f", "a=", "a=f:arg1", "a=f:ret", "a=app:probe", "a=f..", "a=..f",
                           "a=f:arg1..g", "a=f..g:arg1", "a=f:ret..g:arg1", "a=f:arg1..g:ret"}) {
    const auto wishes = parse_span(text);
    ASSERT_FALSE(wishes) << text;
    EXPECT_EQ(wishes.error().kind, ErrorKind::kUsage) << text;
  }
}

}  // namespace
}  // namespace fathom::probes
