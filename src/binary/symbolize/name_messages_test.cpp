#include "binary/symbolize/name_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fathom::symbolize {
namespace {

NameAnswer example() {
  NameAnswer answer;
  answer.source = model::SymbolSource::kDwarf;
  answer.problem = "a.so: cut short";
  answer.stamp = "3 1 200 4096";
  answer.main_crate = "my_node";
  answer.compilers = "rustc version 1.79.0";
  answer.releasable_bytes = 1 << 20;
  answer.names = {{{"inner", "/src/a.cpp", 7}, {"outer", "/src/a.cpp", 70}}, {}, {{"outer", "", 0}}};
  answer.places = {{}, {{"_Z5innerv", 5, 7, 2}, {"_Z5outerv", 60, 70, 0}}};
  return answer;
}

TEST(NameMessages, EveryRequestComesBackTheSame) {
  const std::vector<NameRequest> requests = {
      {7, OpenModule{"/usr/bin/a", "/usr/lib/debug/a.debug", false, "/usr/lib/debug/a.debug"}},
      {0, OpenModule{"", "", true, ""}},
      {1, CheckFiles{}},
      {1, OpenPerfMap{"/proc/1/root/tmp/perf-1.map"}},
      {UINT32_MAX, ResolveNames{{{0}, {0x1000}, {UINT64_MAX}}}},
      {2, ReleaseMemory{}},
      {3, ResolvePlaces{{{0}, {0x1000}, {UINT64_MAX}}}},
  };
  for (const NameRequest& request : requests) {
    const auto again = decode_request(encode_request(request));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, request);
  }
}

TEST(NameMessages, AnAnswerComesBackTheSame) {
  const auto again = decode_answer(encode_answer(example()), 3, 2);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, example());
}

TEST(NameMessages, AnAnswerToAnotherQuestionIsRefused) {
  EXPECT_FALSE(decode_answer(encode_answer(example()), 2, 2));
  EXPECT_FALSE(decode_answer(encode_answer(example()), 4, 2));
  EXPECT_FALSE(decode_answer(encode_answer(example()), 3, 1));
  EXPECT_FALSE(decode_answer(encode_answer(example()), 3, 3));
  EXPECT_FALSE(decode_answer(encode_answer({}), 1));
}

TEST(NameMessages, EveryPrefixAndEveryChangedByteIsReadOrRefused) {
  const Bytes whole = encode_answer(example());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_answer(std::span(whole).first(size), 3, 2)) << size;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes changed = whole;
      changed[at] = static_cast<std::byte>(value);
      const auto answer = decode_answer(changed, 3, 2);
      if (answer) {
        EXPECT_EQ(answer->names.size(), 3u);
        EXPECT_EQ(answer->places.size(), 2u);
      }
    }
  }
}

// A text of a megabyte, named a hundred thousand times, would be 100 GB.
TEST(NameMessages, AShortAnswerCannotBecomeALongOne) {
  NameAnswer answer;
  answer.names.assign(100, {{std::string(1 << 20, 'x'), "", 0}});
  const Bytes kept = encode_answer(answer);
  const auto read = decode_answer(kept, answer.names.size());
  ASSERT_TRUE(read);
  std::size_t named = 0;
  for (const auto& chain : read->names) named += chain.size();
  EXPECT_EQ(named, kMostTextOfAnswer >> 20) << "the writer leaves out what the reader would refuse";

  NameAnswer single;
  single.names = {{{std::string(1 << 20, 'x'), "", 0}}};
  Bytes hostile = encode_answer(single);
  // One chain of one name becomes one of 100,000: the count, and the names behind it.
  hostile.resize(hostile.size() - 5);  // and the count of places, 0
  put_varint(hostile, 100'000);
  for (int i = 0; i < 100'000; ++i) {
    put_varint(hostile, 0);
    put_varint(hostile, 1);
    put_varint(hostile, 0);
  }
  const auto refused = decode_answer(hostile, 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("too much text"));

  single.names.clear();
  single.places = {{{std::string(1 << 20, 'x'), 1, 2, 3}}};
  hostile = encode_answer(single);
  hostile.resize(hostile.size() - 5);
  put_varint(hostile, 100'000);
  for (int i = 0; i < 400'000; ++i) put_varint(hostile, 0);
  const auto refused_places = decode_answer(hostile, 0, 1);
  ASSERT_FALSE(refused_places);
  EXPECT_THAT(refused_places.error().message, testing::HasSubstr("too much text"));
}

TEST(NameMessages, AProblemCannotSteerATerminal) {
  NameAnswer answer;
  answer.problem = "a\x1b[2Jb\n";
  EXPECT_EQ(decode_answer(encode_answer(answer), 0)->problem, "a?[2Jb?");
}

TEST(NameMessages, RandomBytesAreNoAnswer) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes(random() % 64);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    if (const auto answer = decode_answer(bytes, 1)) {
      EXPECT_EQ(answer->names.size(), 1u);
    }
    (void)decode_request(bytes);
  }
}

}  // namespace
}  // namespace fathom::symbolize
