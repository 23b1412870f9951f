#include "formats/folded/folded.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"
#include "present/exports/folded_writer.h"

namespace fathom::formats {
namespace {

using analysis::build_call_tree;
using present::FoldedOptions;
using present::write_folded;

std::string rewritten(std::string_view text, const FoldedOptions& options = {}) {
  const Result<model::Profile> profile = read_folded(text, "x.folded");
  if (!profile) return profile.error().message;
  EXPECT_TRUE(model::check(*profile));
  return write_folded(build_call_tree(*profile, {}), options);
}

TEST(FoldedWriter, WritesSortedLinesWithKernelFramesMarked) {
  const model::Profile profile = analysis::small_server();
  EXPECT_EQ(
      write_folded(build_call_tree(profile, {})),
      "server;__libc_start_main;main;<server::tree::Node<alloc::string::String> as "
      "server::tree::Visit>::walk 50\n"
      "server;__libc_start_main;main;<server::tree::Node<alloc::string::String> as "
      "server::tree::Visit>::walk;"
      "<server::tree::Node<alloc::string::String> as server::tree::Visit>::walk;"
      "<server::tree::Node<alloc::string::String> as server::tree::Visit>::walk 250\n"
      "server;__libc_start_main;main;server::request::parse;alloc::vec::Vec<server::request::Header>::push "
      "300\n"
      "server;__libc_start_main;main;write;ksys_write_[k] 100\n"
      "worker-1;server::pool::Worker::run(std::sync::Arc<server::pool::Queue>, bool);[libcodec.so+0x1f40] "
      "196\n"
      "worker-1;server::pool::Worker::run(std::sync::Arc<server::pool::Queue>, bool);bad\uFFFD\uFFFD name "
      "4\n");
}

TEST(FoldedWriter, MarksInlinedCallsWhenAsked) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"in", "out"})}), 2);
  EXPECT_EQ(write_folded(build_call_tree(hand.profile, {}), {.mark_inlined = true}), "app;out;in_[i] 2\n");
}

// Readers take a line that begins with a blank for a message, and one with "//" or '#' for a comment.
TEST(FoldedWriter, ANameThatBeginsTheLineCannotMakeItNoStack) {
  for (const char* name : {" padded", "\x06", "\tx", "# x", "#", "// x", "//"}) {
    analysis::HandMade hand;
    const auto thread = hand.thread(hand.process(1, name), 1, name);
    hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"main", "f"})}), 3);
    hand.sample(thread, {}, 4);  // of the thread alone
    const std::string written = write_folded(build_call_tree(hand.profile, {}));
    const Result<model::Profile> again = read_folded(written + "other;main 1\n", "x.folded");
    ASSERT_TRUE(again) << name << ": " << again.error().message;
    EXPECT_EQ(build_call_tree(*again, {}).total, 8) << name << ": " << written;
  }
}

TEST(FoldedWriter, NamesCannotBreakTheLine) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "a"), 1, "a b");
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"Ljava/lang/String;::x\r\ny"})}), 1);
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"\xc2\x9b\u202e\x9b"})}), 2);
  EXPECT_EQ(write_folded(build_call_tree(hand.profile, {})),
            "a b;Ljava/lang/String:::x  y 1\na b;\uFFFD\uFFFD\uFFFD 2\n");
}

TEST(FoldedWriter, FunctionsOfOneNameInTwoModulesAreOneLine) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "a"), 1, "a");
  hand.sample(thread, hand.stack({hand.frame(hand.module("x"), {"f"})}), 1);
  hand.sample(thread, hand.stack({hand.frame(hand.module("y"), {"f"})}), 2);
  EXPECT_EQ(write_folded(build_call_tree(hand.profile, {})), "a;f 3\n");
}

TEST(FoldedWriter, WaitsAreMicrosecondsThatStillAddUp) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "a"), 1, "a");
  const auto app = hand.module("app");
  for (const char* name : {"f", "g", "h"}) {
    hand.sample(thread, hand.stack({hand.frame(app, {name})}), 1, 0, model::Metric::kOffCpu, 1'400);
  }
  EXPECT_EQ(write_folded(build_call_tree(hand.profile, {.selection = {.metric = model::Metric::kOffCpu}})),
            "a;f 1\na;g 2\na;h 1\n");
}

TEST(FoldedReader, TheFirstFrameIsTheThread) {
  const model::Profile profile = read_folded("java;main;f 3\njava;main 1\nGC 7\n", "x").value();
  EXPECT_EQ(profile.threads.size(), 2u);
  EXPECT_EQ(profile.strings[profile.threads[1].name], "GC");
  EXPECT_EQ(profile.samples[2].stack.value, 0u);
  EXPECT_EQ(profile.samples[0].value, 3);
}

TEST(FoldedReader, KernelInlinedAndJitFramesAreKnownByTheirSuffix) {
  const char* text = "t;f;g_[i];h_[i];sys_[k] 5\nt;js_[j] 2\n";
  const model::Profile profile = read_folded(text, "x").value();
  const analysis::CallTree tree = build_call_tree(profile, {});
  std::map<std::string, analysis::NodeKind> kinds;
  for (const analysis::TreeNode& node : tree.nodes) kinds[tree.name(node)] = node.kind;
  EXPECT_EQ(kinds["sys"], analysis::NodeKind::kKernel);
  EXPECT_EQ(kinds["g"], analysis::NodeKind::kInlined);
  EXPECT_EQ(kinds["h"], analysis::NodeKind::kInlined);
  EXPECT_EQ(kinds["f"], analysis::NodeKind::kUser);
  EXPECT_EQ(rewritten(text, {.mark_inlined = true, .mark_jit = true}), text);
}

TEST(FoldedReader, WindowsLineEndsEmptyLinesAndNoLastLineEndAreFine) {
  EXPECT_EQ(rewritten("a;b 1\r\n\r\n\na;c 2"), "a;b 1\na;c 2\n");
}

TEST(FoldedReader, NamesMayHoldSpacesAndNumbers) {
  EXPECT_EQ(rewritten("a;thread 12 5\na;g 1\n"), "a;g 1\na;thread 12 5\n");
  EXPECT_EQ(rewritten("a;f(int, long) const 5\n"), "a;f(int, long) const 5\n");
}

TEST(FoldedReader, OfTwoColumnsTheSecondIsTaken) {
  const Result<model::Profile> profile = read_folded("a;b 10 20\na;c 1 0\n", "x");
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->samples[0].value, 20);
  EXPECT_EQ(profile->samples[1].value, 0);
  EXPECT_THAT(profile->quality.notes, testing::ElementsAre(testing::HasSubstr("the second is taken")));
}

TEST(FoldedReader, FractionsBecomeThousandths) {
  const model::Profile profile = read_folded("a;b 0.5\na;c 12.25\na;d 3.\na;e 7\na;f 0.00099\n", "x").value();
  std::vector<std::int64_t> values;
  for (const model::Sample& sample : profile.samples) values.push_back(sample.value);
  EXPECT_EQ(values, (std::vector<std::int64_t>{500, 12250, 3000, 7000, 0}));
  EXPECT_EQ(profile.meta.facts.at("unit"), "thousandths");
}

TEST(FoldedReader, ALineWithoutACountCostsItself) {
  for (const char* bad : {"a;b", "a;b x", "a;b -5", "a;b 1e5", "a;b 12.5.1", "a;b 99999999999999999999", "5",
                          "a;b 0x10", "WARNING: late"}) {
    const auto profile = read_folded("a;b 1\n" + std::string(bad) + "\na;c 2\n", "in.folded");
    ASSERT_TRUE(profile) << bad;
    EXPECT_EQ(write_folded(build_call_tree(*profile, {})), "a;b 1\na;c 2\n") << bad;
    EXPECT_THAT(profile->quality.notes,
                testing::ElementsAre(
                    "1 of 3 lines is no stack with a count at the end and is left out; it is line 2: '" +
                    std::string(bad) + "'."));
  }
  EXPECT_EQ(rewritten("a;b 1\na;c 2\na;d"), "a;b 1\na;c 2\n") << "a file that was cut short";
}

TEST(FoldedReader, CommentsAreNoStacks) {
  const model::Profile profile =
      read_folded("# mode: wall\n# duration: 40000\n#!\n#3 workers;a 1\nt;b 2\n# done; with 7\n", "x")
          .value();
  EXPECT_EQ(write_folded(build_call_tree(profile, {})), ".#3 workers;a 1\nt;b 2\n");
  EXPECT_THAT(profile.quality.notes,
              testing::ElementsAre("The file's comments: mode: wall, duration: 40000.",
                                   "The values are units of wall-clock time and no CPU time."));
  EXPECT_EQ(profile.meta.facts.at("unit"), "units of wall-clock time") << "no CPU time";
}

TEST(FoldedReader, FramesOfScriptsAreFunctionsWithTheirPlace) {
  const model::Profile profile =
      read_folded("main (app.py:3);run (app.py:9) 2\nP42;T7;main (app.py:3) 1\nP42;T0:8;main (app.py:3) 1\n",
                  "x")
          .value();
  EXPECT_EQ(profile.threads.size(), 3U);
  EXPECT_EQ(profile.strings[profile.threads[0].name], "") << "the first frame is no thread here";
  EXPECT_EQ(profile.threads[1].tid, 7);
  EXPECT_EQ(profile.threads[2].tid, 8);
  EXPECT_EQ(profile.processes[profile.threads[1].process.value].pid, 42);
  EXPECT_THAT(write_folded(build_call_tree(profile, {.thread_roots = false})),
              testing::HasSubstr("main;run 2\n"));
  const model::Frame& leaf = profile.frames[profile.stacks[profile.samples[0].stack.value].frame.value];
  EXPECT_EQ(profile.lines[leaf.first_line].line, 9U);
  EXPECT_EQ(profile.strings[profile.lines[leaf.first_line].file], "app.py");
}

TEST(FoldedReader, IsKnownByItsFirstLines) {
  for (const char* text :
       {"a;b 1\n", "WARNING\na;b 1\na;c 2\n", "a 5\nb 6\n", "# austin\na;b 1\n", "a;b 1\na;c"})
    EXPECT_TRUE(is_folded(text)) << text;
  for (const char* text :
       {"", "hello world\n", "5\n6\n", "Chapter 1\nIt was late.\n", "a;b 1\nx\ny\n", "# a;b 1\n"})
    EXPECT_FALSE(is_folded(text)) << text;
  EXPECT_FALSE(is_folded(std::string_view("a;\0 5\n", 7))) << "no text";
}

// Whatever stands between stacks costs itself, also where it ends in a number.
TEST(FoldedReader, WhatIsNoStackIsLeftOut) {
  for (const char* line :
       {"WARNING: some banner", "WARNING: lost 12", "lost samples: 12", "[INFO] wrote 3",
        "[perf record: Woken up 1 times]", "  File \"a.py\", line 10", "\tat Foo.bar 7", "app;main;wo",
        "app;main;work -3", "app;main;work 12abc", "{\"level\": \"info\", \"n\": 4}",
        "Traceback (most recent call last):", "// a comment 5", "# a comment 5", "app;main;work 1e3"}) {
    for (const std::string& text : {std::string(line) + "\napp;main;work 900\napp;main;idle 100\n",
                                    "app;main;work 900\n" + std::string(line) + "\napp;main;idle 100\n",
                                    "app;main;work 900\napp;main;idle 100\n" + std::string(line)}) {
      EXPECT_TRUE(is_folded(text)) << text;
      EXPECT_EQ(write_folded(build_call_tree(read_folded(text, "x").value(), {})),
                "app;main;idle 100\napp;main;work 900\n")
          << text;
    }
  }
  // Stacks of one frame are none of these.
  for (const char* line : {"[unknown]", "tokio worker 3", "main", "std::run", "f (a: b)"})
    EXPECT_EQ(read_folded(std::string("app;main 2\n") + line + " 5\n", "x").value().samples.size(), 2U)
        << line;
}

TEST(FoldedReader, AByteOrderMarkIsNoName) {
  for (const char* text :
       {"\xef\xbb\xbfmain;a 1\r\nmain;b 2\r\n", "\xef\xbb\xbf# comment\nmain;a 1\nmain;b 2\n"}) {
    EXPECT_TRUE(is_folded(text));
    EXPECT_EQ(write_folded(build_call_tree(read_folded(text, "x").value(), {})), "main;a 1\nmain;b 2\n");
  }
}

TEST(FoldedReader, AddressesAreNoNames) {
  const model::Profile profile =
      read_folded("a;0x1234 3\na;00007f00aabbccdd 4\na;deadbeef 5\na;0xyz 6\na;12345 7\n", "x").value();
  EXPECT_EQ(write_folded(build_call_tree(profile, {})),
            "a;0xyz 6\na;12345 7\na;[0x00007f00aabbccdd] 4\na;[0x1234] 3\na;deadbeef 5\n");
}

TEST(FoldedReader, OfThreeCountsTheFirstIsTheTime) {
  const model::Profile profile =
      read_folded("# mode: full\nP1;T1;main;a 100,1,2048\nP1;T1;main;b 300,0,-10\n", "x").value();
  EXPECT_EQ(build_call_tree(profile, {}).total, 400);
  EXPECT_THAT(profile.quality.notes, testing::Contains(testing::HasSubstr("three counts per line")));
}

TEST(FoldedReader, AFileWithoutStacksIsAnError) {
  for (const char* text : {"", "\n\n", "   \r\n", "# only a comment\n"}) {
    EXPECT_EQ(read_folded(text, "in.folded").error().message, "in.folded: no stack with a count in it");
  }
}

TEST(FoldedReader, CountsThatWouldOverflowNeverDo) {
  EXPECT_EQ(read_folded("a 9000000000000000.5\na 9223372036854775806\n", "x").error().kind,
            ErrorKind::kMalformed);
  const model::Profile profile =
      read_folded("a;b 9223372036854775800\na;c 9223372036854775800\n", "x").value();
  EXPECT_EQ(build_call_tree(profile, {}).total, INT64_MAX);
}

// A random profile inlines functions of any module into any other; in text, what is inlined into the kernel
// is kernel.
std::map<std::string, std::int64_t> without_suffixes(std::string_view text) {
  std::map<std::string, std::int64_t> stacks;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    std::string stack(line.substr(0, line.rfind(' ')));
    for (const char* suffix : {"_[k]", "_[i]", "_[j]"}) {
      for (std::size_t at; (at = stack.find(suffix)) != std::string::npos;) stack.erase(at, 4);
    }
    stacks[stack] += std::stoll(std::string(line.substr(line.rfind(' ') + 1)));
  }
  return stacks;
}

TEST(Folded, WhatIsWrittenIsReadBackTheSame) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    for (const model::Metric metric : analysis::metrics_in(profile)) {
      const std::string once =
          write_folded(build_call_tree(profile, {.selection = {.metric = metric}}), {.mark_inlined = true});
      if (once.empty()) continue;  // all of it below a microsecond
      EXPECT_EQ(without_suffixes(rewritten(once, {.mark_inlined = true})), without_suffixes(once))
          << "seed " << seed;
    }
  }
}

TEST(Folded, EveryPrefixOfAFileIsReadOrRefused) {
  const std::string text =
      write_folded(build_call_tree(analysis::small_server(), {}), {.mark_inlined = true});
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Result<model::Profile> profile = read_folded(std::string_view(text).substr(0, length), "x");
    if (profile) {
      EXPECT_TRUE(model::check(*profile));
    } else {
      EXPECT_EQ(profile.error().message.find('\n'), std::string::npos);
    }
  }
}

// Lines of every kind, some of which are longer than a piece.
std::string mixed_text(std::mt19937& random) {
  std::string text = random() % 2 == 0 ? "\xef\xbb\xbf" : "";
  for (int line = 0; line < 6000; ++line) {
    switch (random() % 40) {
      case 0:
        text += "# mode: wall\n";
        break;
      case 1:
        text += "no count here\r\n";
        break;
      case 2:
        text += "\n";
        break;
      default: {
        static constexpr const char* kThreads[] = {"main", "worker;a", "P4;T7", "P4;T8", "run (a.py:3)", ""};
        text += kThreads[random() % 6];
        for (auto depth = random() % 12; depth-- > 0;)
          text += fmt::format(";f{}{}", random() % 50, random() % 5 == 0 ? "_[i]" : "");
        if (random() % 1000 == 0) text += ";" + std::string(200'000, 'x');
        text += fmt::format(" {}\n", random() % 100);
      }
    }
  }
  return random() % 2 == 0 ? text : text + "main;last 5";
}

TEST(FoldedReader, ATextThatStaysIsReadAsOneThatDoesNot) {
  std::mt19937 random(3);
  for (int round = 0; round < 8; ++round) {
    const std::string text = mixed_text(random);
    FoldedReader in_pieces("x"), lasting("x");
    in_pieces.add(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = at == 0 ? 100'000 : 1 + random() % 60'000;
      lasting.add_lasting(std::string_view(text).substr(at, size));
      at += size;
    }
    const model::Profile one = in_pieces.finish().value(), other = lasting.finish().value();
    EXPECT_EQ(one.stacks, other.stacks);
    EXPECT_EQ(one.samples, other.samples);
    EXPECT_EQ(one.quality.notes, other.quality.notes);
    EXPECT_EQ(one.threads.size(), other.threads.size());
    EXPECT_EQ(write_folded(build_call_tree(one, {})), write_folded(build_call_tree(other, {})));
  }
}

TEST(FoldedReader, ATextThatStaysMayEndAnywhere) {
  std::mt19937 random(4);
  const std::string text = mixed_text(random);
  for (int round = 0; round < 30; ++round) {
    const std::string_view begun = std::string_view(text).substr(0, 70'000 + random() % 200'000);
    FoldedReader in_pieces("x"), lasting("x"), left("x");
    in_pieces.add(begun);
    lasting.add_lasting(begun);
    left.add_lasting(begun);  // and is never finished
    EXPECT_EQ(in_pieces.finish().value().samples, lasting.finish().value().samples);
  }
}

TEST(Folded, IdleCpusAreCountedAndLeftOut) {
  const model::Profile profile =
      read_folded("app;main 100\nswapper;do_idle_[k];default_idle_[k] 290\nswapper/3;do_idle 10\n", "x")
          .value();
  EXPECT_EQ(profile.samples.size(), 1u);
  EXPECT_THAT(profile.quality.notes, testing::Contains(testing::HasSubstr("300 of 400 samples (75.0 %)")));
}

}  // namespace
}  // namespace fathom::formats
