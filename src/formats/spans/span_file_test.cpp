#include "formats/spans/span_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"

namespace fathom::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SpanFile spans_of(std::string_view text, const std::string& path = "spans") {
  auto file = read_spans(text, path);
  EXPECT_TRUE(file) << file.error().message;
  return file ? *file : SpanFile{};
}

// "name start-end thread": what a test wants to see of each span.
std::vector<std::string> shown(const SpanFile& file) {
  std::vector<std::string> rows;
  for (const FileSpan& span : file.spans)
    rows.push_back(file.names[span.name] + " " + std::to_string(span.start_ns) + "-" +
                   std::to_string(span.end_ns) + " " + std::to_string(span.tid));
  return rows;
}

TEST(Markers, EachLineIsASpanOfTheThreadInTheFilesName) {
  const SpanFile file = spans_of("100 250 new payload\n300 300 commit\n", "/tmp/x/marker-12-13.txt");
  EXPECT_THAT(shown(file), ElementsAre("new payload 100-250 13", "commit 300-300 13"));
  EXPECT_EQ(file.clock, SpanClock::kMonotonic);
  EXPECT_EQ(file.spans[0].pid, 12);
  EXPECT_EQ(file.left_out, 0u);
}

TEST(Markers, ANameWithoutNumbersSaysNothingAboutTheThread) {
  for (const char* path : {"marker.txt", "marker-.txt", "marker-x-7.txt", "other-12-13.txt", "marker--1.txt"})
    EXPECT_EQ(spans_of("1 2 a\n", path).spans[0].tid, 0) << path;
  EXPECT_EQ(spans_of("1 2 a\n", "marker-12.txt").spans[0].pid, 12);
}

TEST(Markers, DamagedLinesAreCountedAndTheOthersKept) {
  const SpanFile file = spans_of("1 2 a\nnonsense\n9 3 backwards\n5 6\n-4 5 b\n7 8 c\n");
  EXPECT_THAT(shown(file), ElementsAre("a 1-2 0", "c 7-8 0"));
  EXPECT_EQ(file.left_out, 4u);
}

// The program's buffer was not written out to its end: "1200" may have been "12003 payload".
TEST(Markers, ALineWithoutItsEndIsNotBelieved) {
  const std::string text = "1 2 a\n3 1200 payload\n";
  for (std::size_t size = 6; size < text.size(); ++size) {
    const SpanFile file = spans_of(text.substr(0, size));
    EXPECT_THAT(shown(file), ElementsAre("a 1-2 0")) << size;
    EXPECT_EQ(file.is_cut, size > 6) << size;
  }
}

TEST(TraceEvents, CompleteEventsAreInMicroseconds) {
  const SpanFile file = spans_of(
      R"({"traceEvents":[{"ph":"X","ts":1.5,"dur":2,"name":"a","pid":4,"tid":5},{"ph":"M","name":"thread_name"}]})");
  EXPECT_THAT(shown(file), ElementsAre("a 1500-3500 5"));
  EXPECT_EQ(file.spans[0].pid, 4);
  EXPECT_EQ(file.clock, SpanClock::kUnknown);
}

TEST(TraceEvents, AnEndBelongsToTheInnermostBeginOfItsThread) {
  const SpanFile file = spans_of(
      R"([{"ph":"B","ts":1,"name":"outer","tid":1},{"ph":"B","ts":2,"name":"inner","tid":1},
          {"ph":"B","ts":2,"name":"other","tid":2},{"ph":"E","ts":3,"tid":1},{"ph":"E","ts":9,"tid":2},
          {"ph":"E","ts":8,"tid":1}])");
  EXPECT_THAT(shown(file), ElementsAre("inner 2000-3000 1", "other 2000-9000 2", "outer 1000-8000 1"));
}

TEST(TraceEvents, AsynchronousSpansArePairedByIdAndBelongToNoThread) {
  const SpanFile file = spans_of(
      R"([{"ph":"b","ts":1,"name":"get","cat":"c","id":1,"tid":1},{"ph":"b","ts":2,"name":"get","cat":"c","id":2,"tid":1},
          {"ph":"e","ts":5,"name":"get","cat":"c","id":1,"tid":3},{"ph":"e","ts":4,"name":"get","cat":"c","id":2,"tid":1}])");
  EXPECT_THAT(shown(file), ElementsAre("get 1000-5000 0", "get 2000-4000 0"));
  EXPECT_TRUE(file.spans[0].async);
  EXPECT_NE(file.spans[0].id, file.spans[1].id);
}

TEST(TraceEvents, WhatHasNoEndOrNoBeginIsCounted) {
  const SpanFile file = spans_of(
      R"([{"ph":"B","ts":1,"name":"open","tid":1},{"ph":"E","ts":1,"tid":9},{"ph":"b","ts":1,"name":"x","id":1},
          {"ph":"X","ts":-1,"dur":1,"name":"early"},{"ph":"X","ts":1,"dur":-1,"name":"negative"}])");
  EXPECT_TRUE(file.spans.empty());
  EXPECT_EQ(file.left_out, 5u);
}

// A program that was killed leaves the array open.
TEST(TraceEvents, EveryPrefixOfAFileIsReadOrRefused) {
  const std::string event = R"({"ph":"X","ts":1,"dur":2,"name":"a","tid":5})";
  const std::string text = "[" + event + "," + event + "," + event + "]";
  std::size_t most = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto file = read_spans(text.substr(0, size), "f");
    if (file) most = std::max(most, file->spans.size());
    if (size == text.size() - 2) {
      EXPECT_EQ(file->spans.size(), 2u);
    }
  }
  EXPECT_EQ(most, 3u);
}

TEST(TraceEvents, AFileThatEndsInsideOfAnEventKeepsTheWholeOnes) {
  const std::string event = R"({"args":{"text":"}],\\"},"ph":"X","ts":1,"dur":2,"name":"a","tid":5})";
  for (const std::string head : {"[", R"({"otherData":{"a":{}},"traceEvents":[)"}) {
    const std::string text = head + event + "," + event;
    for (std::size_t size = head.size() + event.size(); size < text.size(); ++size)
      EXPECT_EQ(spans_of(text.substr(0, size)).spans.size(), 1u) << text.substr(0, size);
    EXPECT_EQ(spans_of(text).spans.size(), 2u);
  }
}

TEST(TraceEvents, AnArrayNeedsNoBracketAtItsEnd) {
  const std::string event = R"({"ph":"X","ts":1,"dur":2,"name":"a","tid":5})";
  for (const std::string end : {"", ",", ",\n", "\n"}) {
    const SpanFile file = spans_of("[\n" + event + ",\n" + event + end);
    EXPECT_EQ(file.spans.size(), 2u) << end;
    EXPECT_FALSE(file.is_cut) << end;
  }
  EXPECT_TRUE(spans_of("[" + event + ",{\"ph\"").is_cut);
}

TEST(Otlp, TimesAreOfTheDayAndSpansNameTheirThread) {
  const SpanFile file = spans_of(R"({"resourceSpans":[{"resource":{"attributes":[
      {"key":"process.pid","value":{"intValue":"77"}}]},"scopeSpans":[{"spans":[
      {"name":"get","spanId":"00000000000000ff","parentSpanId":"0000000000000001","startTimeUnixNano":"1700000000000000001",
       "endTimeUnixNano":"1700000000000000009","attributes":[{"key":"thread.id","value":{"intValue":78}}]},
      {"name":"no end","startTimeUnixNano":"5","endTimeUnixNano":"4"}]}]}]})");
  EXPECT_THAT(shown(file), ElementsAre("get 1700000000000000001-1700000000000000009 78"));
  EXPECT_EQ(file.spans[0].pid, 77);
  EXPECT_EQ(file.spans[0].id, 255u);
  EXPECT_EQ(file.spans[0].parent, 1u);
  EXPECT_EQ(file.clock, SpanClock::kUnix);
  EXPECT_EQ(file.left_out, 1u);
}

// As the file exporter of the collector writes them, and cut where the collector was ended.
TEST(Otlp, AFileMayHaveARequestInEachLine) {
  const auto line = [](const std::string& name) {
    return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"name":")" + name +
           R"(","startTimeUnixNano":"3","endTimeUnixNano":"4"}]}]}]})";
  };
  const std::string text = line("a") + "\n" + line("b") + "\n";
  for (std::size_t size = text.size() / 2; size < text.size() - 1; ++size) {
    const SpanFile file = spans_of(text.substr(0, size));
    EXPECT_THAT(shown(file), ElementsAre("a 3-4 0")) << size;
    EXPECT_EQ(file.left_out, 0u) << size;
    EXPECT_EQ(file.is_cut, size > text.size() / 2) << size;
  }
  EXPECT_THAT(shown(spans_of(text)), ElementsAre("a 3-4 0", "b 3-4 0"));
  const SpanFile damaged = spans_of(line("a") + "\nnonsense\n" + line("b") + "\n");
  EXPECT_THAT(shown(damaged), ElementsAre("a 3-4 0", "b 3-4 0"));
  EXPECT_EQ(damaged.left_out, 1u);
  EXPECT_FALSE(read_spans("{\"resourceSpans\":\n[\n{}\n", "f")) << "one object that is cut";
}

// As Jaeger's page saves a trace.
constexpr std::string_view kJaeger = R"({"data":[{"traceID":"c1","spans":[
    {"traceID":"c1","spanID":"00000000000000ff","operationName":"get","startTime":1700000000000001,"duration":250,
     "references":[{"refType":"FOLLOWS_FROM","spanID":"2"},{"refType":"CHILD_OF","traceID":"c1","spanID":"0000000000000001"}],
     "tags":[{"key":"thread.id","type":"int64","value":78}],"processID":"p1"},
    {"traceID":"c1","spanID":"fe","operationName":"store","startTime":1700000000000002,"duration":0,"processID":"p2"},
    {"traceID":"c1","spanID":"fd","operationName":"no start","duration":5}],
    "processes":{"p1":{"serviceName":"node","tags":[{"key":"pid","type":"int64","value":77}]}}}]})";

TEST(Jaeger, TimesAreMicrosecondsOfTheDayAndSpansNameTheirThread) {
  const SpanFile file = spans_of(kJaeger);
  EXPECT_THAT(shown(file), ElementsAre("get 1700000000000001000-1700000000000251000 78",
                                       "store 1700000000000002000-1700000000000002000 0"));
  EXPECT_EQ(file.clock, SpanClock::kUnix);
  EXPECT_EQ(file.source, model::SpanSource::kJaeger);
  EXPECT_EQ(file.spans[0].pid, 77);
  EXPECT_EQ(file.spans[0].id, 255u);
  EXPECT_EQ(file.spans[0].parent, 1u);
  EXPECT_FALSE(file.spans[0].async);
  EXPECT_TRUE(file.spans[1].async);
  EXPECT_EQ(file.left_out, 1u);
}

TEST(Jaeger, EveryPrefixIsRefusedAndOddValuesAreLeftOut) {
  for (std::size_t size = 0; size < kJaeger.size(); ++size) {
    if (size != 0) {
      EXPECT_FALSE(read_spans(kJaeger.substr(0, size), "f")) << size;
    }
  }
  for (const char* span :
       {R"({"startTime":18446744073709551615,"duration":1})",
        R"({"startTime":1,"duration":18446744073709551615})", R"({"startTime":-5})", "[]", "7"}) {
    const SpanFile file = spans_of(R"({"data":[{"traceID":"1","spans":[)" + std::string(span) + "]}]}");
    EXPECT_EQ(file.left_out, 1u) << span;
    EXPECT_TRUE(file.spans.empty()) << span;
  }
}

TEST(Spans, OtherFilesAreRefusedWithTheFormatsThatAreRead) {
  for (const char* text : {"hello", "1 2", "{\"a\":1}", "[1,2]",
                           "\x7f"
                           "ELF"}) {
    const auto file = read_spans(text, "odd.txt");
    ASSERT_FALSE(file) << text;
    EXPECT_THAT(file.error().message, HasSubstr("odd.txt"));
  }
  EXPECT_TRUE(read_spans("", "marker-1-2.txt")) << "no span has ended yet";
}

TEST(Spans, NamesAreStoredOnceAndCut) {
  const SpanFile file = spans_of("1 2 a\n3 4 a\n5 6 " + std::string(1000, 'x') + "\n");
  ASSERT_EQ(file.names.size(), 2u);
  EXPECT_EQ(file.names[1].size(), kLongestSpanName);
}

}  // namespace
}  // namespace fathom::formats
