#include "tools/oom/plain_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tools/oom/explanation.h"
#include "tools/oom/records.h"

namespace fathom::oom {
namespace {

TEST(PlainLine, IsTheKernelsMessageInAnyWrapper) {
  EXPECT_EQ(plain_line("\x1b[32m[ 97.3] \x1b[0m\x1b[33mindexer\x1b[0m invoked"), "[ 97.3] indexer invoked");
  EXPECT_EQ(plain_line("kern  :warn  : [Thu Mar  5 10:11:12 2026] x"), "[Thu Mar  5 10:11:12 2026] x");
  EXPECT_EQ(plain_line(R"({"log":"[ 97.3] a \"b\" \u001b[0mc\n","stream":"stdout","time":"2026"})"),
            "[ 97.3] a \"b\" c ");
  EXPECT_EQ(plain_line(R"({"__CURSOR":"s","MESSAGE":"a b"})"), "a b");
  EXPECT_EQ(plain_line("MESSAGE=a b"), "a b");
  EXPECT_EQ(plain_line("{ not JSON"), "{ not JSON");
  EXPECT_EQ(plain_line("\x1b["), "");
  EXPECT_EQ(kernel_message("app-1  | Memory cgroup out of memory: Killed process 7 (a)"),
            "Memory cgroup out of memory: Killed process 7 (a)");
  EXPECT_EQ(kernel_message("memory+swap: usage 1kB"), "memory+swap: usage 1kB");
  EXPECT_EQ(kernel_message("hello"), "hello");
}

const std::vector<std::string> kLines = {
    "indexer invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "CPU: 3 PID: 2311 Comm: indexer Not tainted 6.1.55 #1",
    "memory: usage 524288kB, limit 524288kB, failcnt 99",
    "Memory cgroup stats for /batch: anon 534773760 file 0 kernel 2097152",
    "Tasks state (memory values in pages):",
    "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
    "[   2311]  1000  2311   180000   130500  1118208        0             0 indexer",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/"
    "batch,task_memcg=/batch,"
    "task=indexer,pid=2311,uid=1000",
    "Memory cgroup out of memory: Killed process 2311 (indexer) total-vm:720000kB, anon-rss:521000kB, "
    "file-rss:1000kB, "
    "shmem-rss:0kB, UID:1000 pgtables:1092kB oom_score_adj:0",
    "oom_reaper: reaped process 2311 (indexer), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB"};

// The same record as dmesg, journalctl, containers and collectors print it.
TEST(OomLog, OfEveryShapeIsTheSameRecord) {
  using Shape = std::function<std::string(const std::string&)>;
  const auto behind = [](std::string prefix) {
    return Shape([=](const std::string& line) { return prefix + line; });
  };
  const auto in_json = [](std::string begin, std::string end) {
    return Shape([=](const std::string& line) { return begin + line + end; });
  };
  const std::vector<std::pair<std::string, Shape>> shapes = {
      {"plain", behind("")},
      {"dmesg", behind("[   97.381108] ")},
      {"dmesg -r", behind("<4>[   97.381108] ")},
      {"dmesg -x", behind("kern  :warn  : [   97.381108] ")},
      {"dmesg -xT", behind("kern  :warn  : [Thu Mar  5 10:11:12 2026] ")},
      {"dmesg -T", behind("[Thu Mar  5 10:11:12 2026] ")},
      {"dmesg -d", behind("[   97.381108 <    0.000122>] ")},
      {"dmesg -e", behind("[Mar 5 10:11] ")},
      {"dmesg -e, later lines", behind("[  +0.000122] ")},
      {"dmesg --time-format iso", behind("2026-03-05T10:11:12,381108+01:00 ")},
      {"dmesg --color", behind("\x1b[32m[   97.381108] \x1b[0m")},
      {"dmesg --color of a group", behind("\x1b[32m[   97.381108] \x1b[0m\x1b[33m")},
      {"/dev/kmsg", behind("4,1234,97381108,-;")},
      {"journalctl -k", behind("Mar 05 10:11:12 node-a kernel: ")},
      {"journalctl -o short-full", behind("Thu 2026-03-05 10:11:12 CET node-a kernel: ")},
      {"journalctl -o short-iso", behind("2026-03-05T10:11:12+0100 node-a kernel: ")},
      {"journalctl -o short-unix", behind("1772702472.381108 node-a kernel: ")},
      {"journalctl -o short-monotonic", behind("[   97.381108] node-a kernel: ")},
      {"journalctl -o cat", behind("")},
      {"journalctl -o json", in_json(R"({"_HOSTNAME":"node-a","PRIORITY":"4","MESSAGE":")", R"("})")},
      {"journalctl -o export", behind("MESSAGE=")},
      {"journalctl -o verbose", behind("    MESSAGE=")},
      {"rsyslog", behind("2026-03-05T10:11:12.381108+01:00 node-a kernel: [   97.381108] ")},
      {"docker logs -t", behind("2026-03-05T10:11:12.381108Z [   97.381108] ")},
      {"docker's json-file",
       in_json(R"({"log":"[   97.381108] )", R"(\n","stream":"stdout","time":"2026-03-05T10:11:12Z"})")},
      {"CRI", behind("2026-03-05T10:11:12.381108123Z stdout F [   97.381108] ")},
      {"docker compose", behind("indexer-1  | [   97.381108] ")},
      {"compose without times", behind("indexer-1  | ")},
      {"kubectl logs --prefix", behind("[pod/agent-x/agent] ")},
      {"a collector", in_json(R"({"timestamp":"2026-03-05T10:11:12Z","host":"node-a","message":")", R"("})")},
      {"klog", behind("I0305 10:11:12.381108       1 log_monitor.go:126] ")},
      {"CloudWatch", behind("2026-03-05T10:11:12.381Z ")},
      {"quoted", behind("> ")},
      {"quoted twice", behind("> > [   97.381108] ")},
      {"a list", behind("    ")},
      {"with Windows' ends", [](const std::string& line) { return "[   97.381108] " + line + "\r"; }},
      {"a table", in_json(R"("2026-03-05T10:11:12.381Z","[   97.381108] )", R"(")")},
      {"the console of a virtual machine",
       behind("2026-03-05T10:11:12.127Z In(05) vcpu-5 - Guest: <6>[   97.381108] ")},
      {"of a thread", behind("[   97.381108][ T2311] ")}};
  for (const auto& [name, shape] : shapes) {
    std::string log;
    for (const std::string& line : kLines) log += shape(line) + "\n";
    const std::vector<Record> records = read_records(log);
    ASSERT_EQ(records.size(), 1U) << name;
    const Record& record = records[0];
    EXPECT_EQ(record.invoked_by, "indexer") << name;
    EXPECT_EQ(record.limited_group, "/batch") << name;
    ASSERT_TRUE(record.memory && record.memory->limit_bytes) << name;
    EXPECT_EQ(*record.memory->limit_bytes, 512ULL << 20) << name;
    ASSERT_EQ(record.tasks.size(), 1U) << name;
    EXPECT_EQ(record.tasks[0].rss_bytes, 130500ULL * 4096) << name;
    EXPECT_EQ(explain(record).who, "indexer (pid 2311) was killed") << name;
    EXPECT_TRUE(record.kills[0].reaped) << name;
  }
}

// What a collector adds to a line is its time where the message has none.
TEST(OomLog, HasTheDateOfTheCollector) {
  const std::string end = "Out of memory: Killed process 9 (b) total-vm:9kB, anon-rss:8kB, file-rss:0kB";
  const std::vector<std::pair<std::string, std::string>> shapes = {
      {R"({"__REALTIME_TIMESTAMP":"1772705472381108","MESSAGE":")" + end + R"("})",
       "2026-03-05T10:11:12.381108Z"},
      {R"({"ts":"2026-03-05T10:11:12.381Z","line":"kernel: [   97.381108] )" + end + R"("})",
       "2026-03-05T10:11:12.381Z"},
      {R"({"log":"[   97.381108] )" + end + R"(\n","time":"2026-03-05T10:11:12.38Z"})",
       "2026-03-05T10:11:12.38Z"},
      {"10.0.0.2: kern: warning: [2026-03-05T10:11:12.381108000Z]: " + end, "2026-03-05T10:11:12.381108000Z"},
      {"[2026-03-05 10:11:12]  [   97.381108][T9] " + end, "2026-03-05 10:11:12"},
      {"   \"time\":   97.381108,\n   \"msg\": \"" + end + "\"\n", "97.381108 s after boot"},
      {R"({"__REALTIME_TIMESTAMP":"-1","MESSAGE":")" + end + R"("})", ""},
      {R"({"__REALTIME_TIMESTAMP":"9223372036854775807","MESSAGE":")" + end + R"("})", ""}};
  for (const auto& [line, time] : shapes) {
    const std::vector<Record> records = read_records(line + "\n");
    ASSERT_EQ(records.size(), 1U) << line;
    EXPECT_EQ(when(records[0]), time) << line;
    EXPECT_EQ(records[0].kills.at(0).name, "b") << line;
  }
}

TEST(OomLog, LinesThatAreHoursApartAreOfTwoRecords) {
  const std::string asked =
      "node invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0\n";
  const std::string killed =
      "Out of memory: Killed process 999 (stranger) total-vm:10kB, anon-rss:5kB, file-rss:0kB, "
      "shmem-rss:0kB\n";
  const std::vector<std::pair<std::string, std::string>> moments = {
      {"2026-03-04T10:10:00.000000+00:00 n kernel: ", "2026-03-04T15:10:01.000000+00:00 n kernel: "},
      {"Mar  4 10:10:00 n kernel: ", "Mar  4 15:10:01 n kernel: "},
      {"Mar  4 23:59:59 n kernel: ", "Mar  5 00:30:00 n kernel: "},
      {"[Wed Mar  4 10:10:00 2026] ", "[Wed Mar  4 15:10:01 2026] "},
      {"[  100.0] ", "[ 18100.0] "}};
  for (const auto& [first, then] : moments) {
    const std::vector<Record> records = read_records(first + asked + then + killed);
    ASSERT_EQ(records.size(), 2U) << first;
    EXPECT_TRUE(records[0].kills.empty()) << first;
    EXPECT_EQ(records[1].kills.at(0).name, "stranger");
    EXPECT_EQ(records[1].invoked_by, "") << "who asked is not known";
    EXPECT_EQ(read_records(first + asked + first + killed).size(), 1U) << first;
  }
  EXPECT_EQ(read_records("Mar  4 23:59:59 n kernel: " + asked + "Mar  5 00:00:10 n kernel: " + killed).size(),
            1U)
      << "a slow console, and midnight";
}

TEST(OomLog, WhatTheMachineSaysOfItsMemoryIsTheRest) {
  const auto why_of = [](const std::string& machine, std::string_view task) {
    const std::string log =
        "app invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, "
        "oom_score_adj=0\nMem-Info:\n" +
        machine +
        "4194304 pages RAM\n"
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n" +
        std::string(task) +
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
        "task_memcg=/,task=app,pid=700,uid=0\n"
        "Out of memory: Killed process 700 (app) total-vm:1kB, anon-rss:818000kB, file-rss:2000kB, "
        "shmem-rss:0kB\n";
    const Explanation told = explain(read_records(log).at(0));
    std::string text;
    for (const std::string& line : told.why) text += line + "\n";
    for (const std::string& line : told.remedies) text += "try: " + line + "\n";
    return text;
  };
  using testing::HasSubstr;
  using testing::Not;
  constexpr std::string_view kSmall =
      "[    700]     0   700   300000   205000  1900000        0             0 app\n";
  const std::string huge = why_of(
      "Node 0 hugepages_total=6144 hugepages_free=6144 hugepages_surp=0 hugepages_size=2048kB\n", kSmall);
  EXPECT_THAT(huge, HasSubstr("12.0 GiB are set aside for huge pages, none of them used"));
  EXPECT_THAT(
      huge,
      HasSubstr(
          "release 12.0 GiB of unused huge pages: sysctl vm.nr_hugepages (or hugepages= on the kernel command line) is larger than needed"));
  EXPECT_THAT(huge, Not(HasSubstr("record --heap"))) << "the heap of app is not what is full";
  EXPECT_THAT(why_of("slab_reclaimable:8000 slab_unreclaimable:2800000\n", kSmall),
              HasSubstr("10.7 GiB are kernel objects"));
  EXPECT_THAT(why_of("mapped:900 shmem:3000000 pagetables:2500 bounce:0\n", kSmall),
              HasSubstr("11.4 GiB are shared memory and tmpfs"));
  EXPECT_THAT(why_of("free:20500 free_pcp:100\n", kSmall),
              HasSubstr("the rest is the kernel's, or belongs to no process"));
  EXPECT_THAT(why_of("active_file:50 inactive_file:1000000\n", kSmall),
              HasSubstr("3.8 GiB are files in the page cache; 11.4 GiB are in no line of this record"));
  // Page tables are held by a process, and no part of its RSS.
  const std::string tables =
      why_of("mapped:439 shmem:0 pagetables:3900000\n",
             "[    700]     0   700 34359215953      695 15974400000        0             0 app\n");
  EXPECT_THAT(tables,
              HasSubstr("all processes together held 14.9 GiB (14.9 GiB of that page tables), 93.0 % of it"));
  EXPECT_THAT(tables, Not(HasSubstr("belongs to no process")));
  const std::string zone = why_of(
      "Node 0 DMA32 free:400kB boost:0kB min:4096kB low:5120kB high:6144kB\n"
      "Node 0 Normal free:6400000kB boost:0kB min:45000kB low:56000kB high:67000kB\n",
      kSmall);
  EXPECT_THAT(
      zone,
      HasSubstr(
          "of its 16.0 GiB; no control group's limit was met\nall processes together held 802.6 MiB, 4.9 % of it: the rest is the kernel's, or belongs to no process\n6.1 GiB were free in total, but zone DMA32 of node 0 had only 400.0 KiB, and the request needs that zone"));
}

}  // namespace
}  // namespace fathom::oom
