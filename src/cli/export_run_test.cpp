// What `fathom export` writes, opened by the tools that it is for, where they are installed; and read again by fathom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The parts of Perfetto's schema that are written, from the numbers of their fields.
constexpr std::string_view kPerfettoSchema = R"(syntax = "proto2";
message Text { optional uint64 iid = 1; optional bytes str = 2; }
message EventName { optional uint64 iid = 1; optional string name = 2; }
message Frame { optional uint64 iid = 1; optional uint64 function_name_id = 2; optional uint64 mapping_id = 3;
  optional uint64 rel_pc = 4; optional uint64 source_path_iid = 5; optional uint32 line_number = 6; }
message Callstack { optional uint64 iid = 1; repeated uint64 frame_ids = 2; }
message Mapping { optional uint64 iid = 1; optional uint64 build_id = 2; optional uint64 end = 5; repeated uint64 path_string_ids = 7; }
message InternedData { repeated EventName event_names = 2; repeated Text function_names = 5; repeated Frame frames = 6;
  repeated Callstack callstacks = 7; repeated Text build_ids = 16; repeated Text mapping_paths = 17;
  repeated Text source_paths = 18; repeated Mapping mappings = 19; }
message Clock { optional uint32 clock_id = 1; optional uint64 timestamp = 2; }
message ClockSnapshot { repeated Clock clocks = 1; optional uint32 primary_trace_clock = 2; }
message Timebase { optional uint64 frequency = 2; optional uint32 counter = 4; optional string name = 10; }
message PerfSampleDefaults { optional Timebase timebase = 1; }
message TracePacketDefaults { optional PerfSampleDefaults perf_sample_defaults = 12; optional uint32 timestamp_clock_id = 58; }
message DebugAnnotation { optional string string_value = 6; optional string name = 10; }
message TrackEvent { repeated DebugAnnotation debug_annotations = 4; optional uint32 type = 9; optional uint64 name_iid = 10;
  optional uint64 track_uuid = 11; repeated string categories = 22; optional double double_counter_value = 44;
  repeated fixed64 flow_ids = 47; repeated fixed64 terminating_flow_ids = 48; optional uint64 callstack_iid = 56; }
message ProcessDescriptor { optional int32 pid = 1; optional string process_name = 6; }
message ThreadDescriptor { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
message CounterDescriptor { optional uint32 unit = 3; optional string unit_name = 6; }
message TrackDescriptor { optional uint64 uuid = 1; optional string name = 2; optional ProcessDescriptor process = 3;
  optional ThreadDescriptor thread = 4; optional uint64 parent_uuid = 5; optional CounterDescriptor counter = 8; }
message PerfSample { optional uint32 cpu = 1; optional uint32 pid = 2; optional uint32 tid = 3; optional uint64 callstack_iid = 4;
  optional uint64 timebase_count = 6; }
message TracePacket { optional ClockSnapshot clock_snapshot = 6; optional uint64 timestamp = 8;
  optional uint32 trusted_packet_sequence_id = 10; optional TrackEvent track_event = 11; optional InternedData interned_data = 12;
  optional uint32 sequence_flags = 13; optional TracePacketDefaults trace_packet_defaults = 59;
  optional TrackDescriptor track_descriptor = 60; optional PerfSample perf_sample = 66; }
message Trace { repeated TracePacket packet = 1; }
)";

// opentelemetry/proto/profiles/v1development of version 1.11.0: numbers of the fields that are written.
constexpr std::string_view kOtlpSchema = R"(syntax = "proto3";
message AnyValue { string string_value = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; }
message ValueType { int32 type_strindex = 1; int32 unit_strindex = 2; }
message Sample { int32 stack_index = 1; repeated int32 attribute_indices = 2; int32 link_index = 3; repeated int64 values = 4; }
message Profile { ValueType sample_type = 1; repeated Sample samples = 2; fixed64 time_unix_nano = 3; uint64 duration_nano = 4;
  ValueType period_type = 5; int64 period = 6; bytes profile_id = 7; }
message ScopeProfiles { Scope scope = 1; repeated Profile profiles = 2; }
message ResourceProfiles { Resource resource = 1; repeated ScopeProfiles scope_profiles = 2; }
message Mapping { uint64 memory_start = 1; uint64 memory_limit = 2; uint64 file_offset = 3; int32 filename_strindex = 4;
  repeated int32 attribute_indices = 5; }
message Line { int32 function_index = 1; int64 line = 2; }
message Location { int32 mapping_index = 1; uint64 address = 2; repeated Line lines = 3; repeated int32 attribute_indices = 4; }
message Function { int32 name_strindex = 1; int32 system_name_strindex = 2; int32 filename_strindex = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message KeyValueAndUnit { int32 key_strindex = 1; AnyValue value = 2; int32 unit_strindex = 3; }
message Stack { repeated int32 location_indices = 1; }
message Dictionary { repeated Mapping mapping_table = 1; repeated Location location_table = 2; repeated Function function_table = 3;
  repeated Link link_table = 4; repeated string string_table = 5; repeated KeyValueAndUnit attribute_table = 6;
  repeated Stack stack_table = 7; }
message Request { repeated ResourceProfiles resource_profiles = 1; Dictionary dictionary = 2; }
)";

class Exports : public Cli {
 protected:
  // What a tool of the machine prints of `input`; it is one that may not be installed.
  Outcome tool(const std::string& program, const std::vector<std::string>& arguments,
               const std::string& input = "/dev/null") {
    return run_program(program, arguments, input);
  }
  static bool is_installed(const std::string& program) {
    return std::filesystem::exists("/usr/bin/" + program);
  }

  std::string exported(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    const Outcome outcome = run({"export", recording_, "-o", path});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    return path;
  }
};

TEST_F(Exports, CallgrindAnnotatePrintsTheSumsOfTheRecording) {
  const std::string path = exported("x.callgrind");
  EXPECT_THAT(run({"export", path, "--to", "folded"}).out, HasSubstr("ksys_write_[k] 100"));
  if (!is_installed("callgrind_annotate"))
    GTEST_SKIP() << "needs callgrind_annotate of valgrind, which is not installed";
  const Outcome outcome = tool("callgrind_annotate", {"--threshold=100", path});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.out, HasSubstr("900 (100.0%)  PROGRAM TOTALS"));
  EXPECT_THAT(outcome.out, ContainsRegex("300 \\(33.33%\\)  .*::walk "));
  EXPECT_THAT(outcome.out, ContainsRegex("100 \\(11.11%\\)  .*ksys_write "));
  EXPECT_THAT(tool("callgrind_annotate", {"--inclusive=yes", path}).out,
              ContainsRegex("700 \\(77.78%\\)  .*:main "));
}

TEST_F(Exports, GraphvizDrawsTheCallGraph) {
  const std::string path = exported("x.dot");
  if (!is_installed("dot")) GTEST_SKIP() << "needs dot of graphviz, which is not installed";
  const Outcome outcome = tool("dot", {"-Tplain", path});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.out, HasSubstr("ksys_write\\n100 samples (11.1 %)"));
}

TEST_F(Exports, TheSchemaOfPerfettoHasAllThatIsInATrace) {
  const std::string path = exported("x.pftrace");
  if (!is_installed("protoc")) GTEST_SKIP() << "needs protoc of protobuf-compiler, which is not installed";
  file("trace.proto", kPerfettoSchema);
  const Outcome outcome = tool("protoc", {"--proto_path=" + folder_, "--decode=Trace", "trace.proto"}, path);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("str: \"__libc_start_main\""));
  EXPECT_THAT(outcome.out, HasSubstr("double_counter_value: 31457280"));
  EXPECT_THAT(outcome.out, HasSubstr("thread_name: \"worker-1\""));
  EXPECT_THAT(outcome.out, HasSubstr("primary_trace_clock: 3"));
  // A field that the schema does not know is printed as its number.
  EXPECT_THAT(outcome.out, Not(ContainsRegex("\n +[0-9]+[:{ ]")));
}

TEST_F(Exports, AFolderOfParquetFilesIsARecordingAgain) {
  const std::string folder = folder_ + "/profiles";
  const Outcome first = run({"push", "--parquet", folder, recording_, "--service", "shop", "--host", "web1"});
  EXPECT_EQ(first.status, 0) << first.error;
  EXPECT_THAT(first.error, HasSubstr("fathom: wrote 1 window with "));
  const Outcome second =
      run({"push", "--parquet", folder, recording_, "--service", "shop", "--host", "web1"});
  EXPECT_THAT(second.error,
              HasSubstr("fathom: wrote 0 windows with 0 rows (0 bytes); the folder already had 1 window"));
  // Places without a name have other texts there, so the counts are compared.
  const auto samples_in = [&](const std::string& input) {
    std::istringstream lines(run({"export", input, "--to", "folded", "--metric", "cpu"}).out);
    std::int64_t sum = 0;
    for (std::string line; std::getline(lines, line);) sum += std::stoll(line.substr(line.rfind(' ') + 1));
    return sum;
  };
  EXPECT_EQ(samples_in(recording_), 900);
  EXPECT_EQ(samples_in(folder), 900);
  EXPECT_EQ(samples_in(folder + "?service=shop&host=web1"), 900);
  EXPECT_THAT(run({"export", folder, "--to", "folded"}).out, HasSubstr("ksys_write_[k] 100"));
  const Outcome none = run({"report", folder + "?host=!web1"});
  EXPECT_EQ(none.status, 3);
  EXPECT_THAT(none.error, HasSubstr("no windows of service 'shop' in this selection"));
  const Outcome wrong = run({"report", folder + "?what=x"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.error, HasSubstr("'what=x' chooses no rows"));
}

TEST_F(Exports, TheSchemaOfOtlpHasAllThatIsInARequest) {
  const std::string path = folder_ + "/x.otlp";
  const Outcome refused = run({"export", recording_, "-o", path});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.error, HasSubstr("try: --experimental"));
  ASSERT_EQ(run({"export", recording_, "-o", path, "--experimental"}).status, 0);
  if (!is_installed("protoc")) GTEST_SKIP() << "needs protoc of protobuf-compiler, which is not installed";
  file("otlp.proto", kOtlpSchema);
  const Outcome outcome = tool("protoc", {"--proto_path=" + folder_, "--decode=Request", "otlp.proto"}, path);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  for (const char* text : {"key: \"service.name\"", "name: \"process_cpu\"", "string_table: \"samples\"",
                           "string_table: \"ksys_write\"", "string_table: \"profile.frame.type\""})
    EXPECT_THAT(outcome.out, HasSubstr(text));
  // A field that the schema does not know is printed as its number.
  EXPECT_THAT(outcome.out, Not(ContainsRegex("\n +[0-9]+[:{ ]")));
}

TEST_F(Exports, ADatabaseAnswersWhatTheDocumentAsks) {
  const std::string sql = exported("x.sql");
  if (!is_installed("sqlite3")) GTEST_SKIP() << "needs sqlite3, which is not installed";
  const std::string database = folder_ + "/x.db";
  const auto ask = [&](const std::string& question) {
    const Outcome outcome = tool("sqlite3", {"-bail", "-batch", database, question});
    EXPECT_EQ(outcome.status, 0) << question;
    EXPECT_EQ(outcome.error, "") << question;
    return outcome.out;
  };
  EXPECT_EQ(ask(".read " + sql), "");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM samples"), "900\n");
  EXPECT_EQ(ask("SELECT value FROM quality WHERE name = 'lost_ring_full'"), "3.0\n");
  EXPECT_EQ(ask("SELECT name, MAX(value) FROM series_points JOIN series s ON s.id = series"),
            "memory.rss_anon|31457280.0\n");

  const std::string document = read_file(FATHOM_SQL_DOCUMENT).value();
  std::vector<std::string> answers;
  for (std::size_t at = document.find("```sql"); at != std::string::npos;
       at = document.find("```sql", at + 1)) {
    const std::size_t start = document.find('\n', at);
    answers.push_back(ask(document.substr(start, document.find("```", start) - start)));
  }
  ASSERT_EQ(answers.size(), 6U);
  // Once on a stack, however often: 300 of walk(), 700 of main().
  EXPECT_THAT(answers[0], HasSubstr("main|700\n"));
  EXPECT_THAT(answers[0], ContainsRegex("::walk\\|300\n"));
  EXPECT_THAT(answers[0], HasSubstr("alloc::vec::Vec<server::request::Header>::push|300\n"));
  EXPECT_THAT(answers[0], HasSubstr("[libcodec.so]|196\n"));
  EXPECT_THAT(answers[1], ContainsRegex("worker-1\\|\\[libcodec.so\\]\\|196\n"));
  EXPECT_EQ(answers[2], "");
  EXPECT_NE(answers[3], "");
  EXPECT_EQ(answers[4], "");
  EXPECT_THAT(answers[5], StartsWith("memory.rss_anon|1000000000|"));
}

TEST_F(Exports, APageIsThatOfView) {
  const std::string page = exported("x.html");
  const std::string frozen = folder_ + "/view.html";
  EXPECT_EQ(run({"view", recording_, "--html", frozen}).status, 0);
  EXPECT_EQ(read_file(page).value(), read_file(frozen).value());
}

TEST_F(Exports, JsonHasTheRecordingWholeOrIsRefused) {
  const nlohmann::json json = nlohmann::json::parse(read_file(exported("x.json")).value());
  EXPECT_EQ(json.at("samples").at("value").size(), 900U);
  EXPECT_EQ(json.at("quality").at("lost_ring_full"), 3);
  for (const char* format : {"json", "html", "sql"}) {
    const Outcome outcome = run({"export", recording_, "--to", format, "--pid", "10", "-o", folder_ + "/y"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.error, HasSubstr("holds the recording whole"));
  }
  EXPECT_THAT(read_file(exported("x.json.gz")).value(), StartsWith("\x1f\x8b"));
}

// A reader of the file alone has to see how much its numbers are worth.
TEST_F(Exports, EachFormatHasTheQualityOfTheRecording) {
  const std::string quality = "900 samples, 3 lost";
  for (const char* name : {"q.pb", "q.firefox.json", "q.speedscope.json", "q.callgrind", "q.callgraph.svg",
                           "q.dot", "q.pftrace"})
    EXPECT_THAT(read_file(exported(name)).value(), HasSubstr(quality)) << name;
  const Outcome folded = run({"export", recording_, "--to", "folded"});
  EXPECT_THAT(folded.error, HasSubstr("fathom: quality: " + quality));
  EXPECT_THAT(folded.out, Not(HasSubstr("quality"))) << "flamegraph.pl takes a comment for a damaged line";
}

TEST_F(Exports, AnEmptySelectionNamesWhatFitsNothing) {
  for (const char* format : {"folded", "dot", "callgrind", "speedscope", "perf-script"})
    EXPECT_THAT(run({"export", recording_, "--to", format, "--thread", "nosuch"}).error,
                HasSubstr("no samples of thread 'nosuch'"))
        << format;
  EXPECT_THAT(run({"flamegraph", recording_, "--thread", "nosuch", "-o", folder_ + "/x.svg"}).error,
              HasSubstr("no samples of thread 'nosuch'"));
  EXPECT_THAT(run({"report", recording_, "--pid", "4711"}).error,
              HasSubstr("process 4711 is not in the recording"));
}

TEST_F(Exports, AtMostSoManySamplesAreKept) {
  const std::string folded = run({"export", recording_, "--to", "folded", "--max-samples", "100"}).out;
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < folded.size(); at = folded.find('\n', at) + 1)
    sum += std::stoll(folded.substr(folded.rfind(' ', folded.find('\n', at)) + 1));
  EXPECT_EQ(sum, 900);
  EXPECT_EQ(run({"export", recording_, "--to", "folded", "--max-samples", "1"}).status, 2);
}

TEST_F(Exports, PartsAreFilesWithNumbers) {
  const Outcome outcome = run({"export", recording_, "--parts", "-o", folder_ + "/x.pb.gz"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("1 part, each of less than 16,000 samples"));
  EXPECT_THAT(run({"export", folder_ + "/x.1.pb.gz", "--to", "folded"}).out, HasSubstr("ksys_write_[k] 100"));
  EXPECT_EQ(run({"export", recording_, "--to", "pprof", "--parts"}).status, 2) << "to standard output";
  EXPECT_EQ(run({"export", recording_, "--to", "folded", "--parts"}).status, 2);
}

}  // namespace
}  // namespace fathom::cli
