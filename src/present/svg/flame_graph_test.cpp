#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <sstream>

#include "base/golden.h"
#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_data.h"
#include "present/svg/flame_graph_testing.h"
#include "present/svg/flame_graph_text.h"
#include "present/svg/scripts.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

const Folded kServer = {
    {"server;main;net::Loop::run(int);net::Connection::read();sys_read_[k];copy_to_user_[k]", 210},
    {"server;main;net::Loop::run(int);<store::Table<K, V> as store::Get>::get;memcmp[libc.so.6]", 480},
    {"server;main;net::Loop::run(int);<store::Table<K, V> as store::Get>::get;malloc[libc.so.6]", 95},
    {"server;main;net::Loop::run(int)", 60},
    {"compactor;start_thread[libc.so.6];store::compact;std::sort<int*>(int*, int*)", 120},
    {"compactor;start_thread[libc.so.6];store::compact;zlib_inflate[libz.so.1]", 30},
    {"compactor;start_thread[libc.so.6];store::compact;rare_a", 2},
    {"compactor;start_thread[libc.so.6];store::compact;rare_b;deeper", 1},
    {"compactor;start_thread[libc.so.6];store::compact;rare_c", 2},
};

// The script changes often and is tested in a browser; a golden of everything else says more without it.
std::string without_script(std::string svg) {
  const std::size_t hash = svg.find("sha256-");
  svg.erase(hash + 7, svg.find('\'', hash) - hash - 7);
  const std::size_t start = svg.find("<![CDATA[") + 9;
  return svg.erase(start, svg.find("]]></script>") - start);
}

TEST(FlameGraphSvg, LooksAsItDid) {
  FlameGraphOptions options;
  options.min_width.value = 5;
  options.root_name = "server (pid 7)";
  expect_golden("server.svg", without_script(flame_graph_svg(tree_of(kServer), options)));
}

TEST(FlameGraphSvg, InvertedLooksAsItDid) {
  FlameGraphOptions options;
  options.inverted = true;
  options.title = "Where the server's time goes";
  options.subtitle = "ten seconds under load";
  options.width = 900;
  options.font_size = 14;
  options.frame_height = 20;
  options.colors = Palette::kHot;
  options.count_name = "ticks";
  options.background = "#ededed";
  options.warnings = {"The recording was cut short."};
  options.notes = {"Recorded on a test machine."};
  expect_golden("server_inverted.svg", without_script(flame_graph_svg(tree_of(kServer), options)));
}

TEST(FlameGraphSvg, MergedFromTheLeafLooksAsItDid) {
  analysis::TreeOptions tree;
  tree.reverse = true;
  FlameGraphOptions options;
  options.reverse = true;
  expect_golden("server_reverse.svg", without_script(flame_graph_svg(tree_of(kServer, tree), options)));
}

TEST(FlameGraphSvg, AnEmptyTreeGivesAPictureWithAMessage) {
  const std::string svg = flame_graph_svg(tree_of({}), {});
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("Nothing to draw"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(FlameGraphSvg, FewSamplesAreWarnedAbout) {
  EXPECT_THAT(flame_graph_svg(tree_of({{"t;f", 99}}), {}), HasSubstr("Only 99 samples"));
  EXPECT_THAT(flame_graph_svg(tree_of({{"t;f", 100}}), {}), Not(HasSubstr("Only ")));
}

TEST(FlameGraphSvg, ManyWaitsOfWhichAFewDecideAreNotCalledOnlyManySamples) {
  analysis::CallTree tree = tree_of({{"t;f", 5000}});
  tree.unit = "ns";
  tree.waits = tree.samples = 4778;
  tree.effective_samples = 90;
  EXPECT_THAT(flame_graph_svg(tree, {}),
              HasSubstr("The waits tell as much as 90 samples: shares are uncertain"));
}

TEST(FlameGraphSvg, OrientationAndRootAreStated) {
  FlameGraphOptions options;
  options.root_name = "redis-server (pid 12)";
  const analysis::CallTree tree = tree_of(kServer);
  EXPECT_THAT(flame_graph_svg(tree, options),
              HasSubstr("Read it upwards: the bottom row is \"redis-server (pid 12)\", then its threads"));
  options.inverted = true;
  EXPECT_THAT(flame_graph_svg(tree, options), HasSubstr("Read it downwards: the top row is"));
}

TEST(FlameGraphSvg, SmallFramesAreCountedNotDropped) {
  FlameGraphOptions options;
  options.min_width = min_width_from("0.5%").value();
  const std::string svg = flame_graph_svg(tree_of(kServer), options);
  EXPECT_THAT(
      svg,
      HasSubstr(
          "Too narrow to draw: 4 frames narrower than 0.5 %, joined in 1 striped box; 0.50 % of all ends in them."));
  EXPECT_THAT(svg, HasSubstr("<title>4 narrow frames (5 samples, 0.50 %"));
}

TEST(FlameGraphSvg, SharesOfSamplesCarryTheirError) {
  EXPECT_THAT(flame_graph_svg(tree_of(kServer), {}),
              HasSubstr("net::Connection::read() [app] (210 samples, 21.0 % ±2.5)"));
}

// A hundred samples stand for 100 MB: 58.4 MiB of them are known to within 15 MiB.
TEST(FlameGraphSvg, BytesOfASampledHeapHaveTheDigitsThatAreKnown) {
  analysis::CallTree tree = tree_of({{"t;main;load", 61'234'567}, {"t;main;parse", 38'765'433}});
  tree.metric = model::Metric::kHeapLive;
  tree.unit = "bytes";
  tree.effective_samples = 100;
  EXPECT_THAT(flame_graph_svg(tree, {}), HasSubstr("load [app] (60 MiB, 61.2 %"));
  tree.effective_samples = analysis::kExact;
  EXPECT_THAT(flame_graph_svg(tree, {}), HasSubstr("load [app] (58.4 MiB, 61.2 %"));
}

TEST(FlameGraphSvg, AFrameOfAWaitSaysWhoWokeIt) {
  const analysis::CallTree tree = tree_of({{"t;main;get", 40}, {"t;main;idle", 60}});
  FlameGraphOptions options;
  options.wakers.resize(tree.nodes.size());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)
    if (tree.name(tree.nodes[i]) == "get") options.wakers[i] = "woken by writer in Log::<sync>";
  const std::string svg = flame_graph_svg(tree, options);
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("(40 samples, 40.0 % ±9.4); woken by writer in Log::&lt;sync></title>"));
  EXPECT_THAT(svg, HasSubstr("\"wakers\":[\"woken by writer in Log::&lt;sync>\"],\"woken\":\"AAABA\""));
  EXPECT_THAT(flame_graph_svg(tree, {}), Not(HasSubstr("\"wakers\":")));
}

TEST(FlameGraphSvg, NothingIsFetchedAndNoAttributeRuns) {
  const std::string svg = flame_graph_svg(tree_of(kServer), {});
  std::size_t scripts = 0;
  for (std::size_t at = svg.find("<script"); at != std::string::npos; at = svg.find("<script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 1u);
  for (const char* forbidden :
       {"onload", "onclick", "onmouse", "href", "url(", "@import", "<image", "<use", "eval(", "innerHTML"}) {
    EXPECT_THAT(svg, Not(HasSubstr(forbidden)));
  }
  for (std::size_t at = svg.find("http"); at != std::string::npos; at = svg.find("http", at + 1)) {
    EXPECT_TRUE(svg.substr(at).starts_with("http://www.w3.org/2000/svg\"") ||
                svg.substr(at).starts_with("http://www.w3.org/1999/xhtml\""))
        << svg.substr(at, 40);
  }
}

TEST(FlameGraphSvg, TheScriptsHashIsInTheFile) {
  EXPECT_EQ(flame_graph_script().find("]]>"), std::string_view::npos);
  EXPECT_EQ(kFlameGraphScriptSha256.size(), 64u);
  EXPECT_THAT(flame_graph_svg(tree_of(kServer), {}),
              testing::ContainsRegex("script-src 'sha256-[A-Za-z0-9+/]+='"));
}

TEST(FlameGraphSvg, TheSameTreeGivesTheSameBytes) {
  Folded shuffled = kServer;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  EXPECT_EQ(flame_graph_svg(tree_of(kServer), {}), flame_graph_svg(tree_of(shuffled), {}));
}

TEST(FlameGraphSvg, HostileNamesStayText) {
  const std::vector<std::string> names = {"</title><script>alert(1)</script>",
                                          "]]><svg onload=alert(1)>",
                                          "a&b<c>\"d\"'e'",
                                          "\xFF\xFE\x80",
                                          std::string("nul\0byte", 8),
                                          "\x1B[31mred",
                                          "line\nbreak",
                                          "\u202Eesrever",
                                          "--> <!-- ",
                                          "&amp;&#0;",
                                          "\\u003c\\",
                                          "{}[]\",\"",
                                          "ends in a high half \xED\xA0\x80",
                                          std::string(5000, 'x'),
                                          "",
                                          " ",
                                          "\t"};
  Folded stacks;
  for (const std::string& name : names)
    stacks.push_back({name + "_t;" + name + ";" + name + "[" + "mod" + "]", 100});
  FlameGraphOptions options;
  options.title = options.subtitle = options.root_name = options.count_name = options.name_type =
      "</title><script>\xFF\n\"&";
  options.notes = options.warnings = {"</text><script>alert(1)\x01"};
  options.font = "x}</style><script>";
  for (const bool inverted : {false, true}) {
    options.inverted = inverted;
    const std::string svg = flame_graph_svg(tree_of(stacks), options);
    EXPECT_EQ(xml_mistake(svg), std::nullopt);
    const std::string rest = without_script(svg);
    EXPECT_EQ(rest.find("<script", rest.find("<script") + 1), std::string::npos);
  }
}

TEST(FlameGraphSvg, RandomBytesInNamesStayWellFormed) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Folded stacks;
    for (int i = 0; i < 20; ++i) {
      std::string stack = "t";
      for (unsigned depth = random() % 6; depth > 0; --depth) {
        stack += ';';
        for (unsigned length = random() % 30; length > 0; --length)
          stack += static_cast<char>(random() % 4 ? "<>&:a()[]\" as"[random() % 13] : random());
      }
      stacks.push_back({stack, 1 + random() % 100});
    }
    const std::string svg = flame_graph_svg(tree_of(stacks), {});
    EXPECT_EQ(xml_mistake(svg), std::nullopt) << "seed " << seed;
  }
}

TEST(FlameGraphSvg, AThousandFramesDeepAndVeryWide) {
  std::string deep = "t";
  for (int i = 0; i < 1023; ++i) deep += ";frame_" + std::to_string(i);
  FlameGraphOptions options;
  options.width = 20000;
  const std::string svg = flame_graph_svg(tree_of({{deep, 500}, {"t;other", 500}}), options);
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("frame_1022"));
  EXPECT_LT(svg.size(), 300'000u);
}

TEST(FlameGraphSvg, OptionsThatMakeNoSenseAreRefused) {
  for (const char* bad : {"", "x", "-1", "1e999", "nan", "101%", "%", "1 px"}) {
    EXPECT_FALSE(min_width_from(bad).has_value()) << bad;
  }
  EXPECT_EQ(min_width_from("0.1").value().value, 0.1);
  EXPECT_EQ(min_width_from("2px").value().value, 2);
  EXPECT_TRUE(min_width_from("1%").value().percent);
  EXPECT_EQ(background_from("#a0B1c2").value(), "#a0B1c2");
  for (const char* bad : {"pink", "#fff", "#12345g", "red;}</style>", ""})
    EXPECT_FALSE(background_from(bad).has_value()) << bad;
}

// ---- The data for the script, read back by what flame_graph_data.h says ----

class Numbers {
 public:
  explicit Numbers(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  std::uint64_t next() {
    std::uint64_t number = 0;
    for (int shift = 0; !rest_.empty(); shift += 5) {
      const std::uint64_t digit =
          std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_").find(rest_[0]);
      rest_.remove_prefix(1);
      number |= (digit & 31) << shift;
      if (digit < 32) break;
    }
    return number;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

TEST(FlameGraphData, ReadingItBackGivesTheTree) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    Folded stacks;
    for (int i = 0; i < 100; ++i) {
      std::string stack = "thread" + std::to_string(random() % 3);
      for (unsigned depth = random() % 40; depth > 0; --depth)
        stack += ";name_of_é_" + std::to_string(random() % 9);
      stacks.push_back({stack, static_cast<std::int64_t>(random() % (i % 2 ? 100 : 100'000'000'000'000))});
    }
    const analysis::CallTree tree = tree_of(stacks);
    const Coloring coloring = color_tree(tree, Palette::kModule, false);
    std::istringstream lines(flame_graph_data(tree, coloring, {}, {}));
    std::string json, symbol_line, node_line, line, before;
    std::getline(lines, json);
    std::getline(lines, symbol_line);
    std::getline(lines, node_line);
    std::vector<std::string> names;
    while (std::getline(lines, line)) {
      Numbers numbers(line);
      const std::uint64_t shared = numbers.next();
      names.push_back(before.substr(0, shared) + std::string(numbers.rest()));
      before = names.back();
    }
    EXPECT_EQ(names, tree.names);
    std::vector<std::array<std::uint64_t, 3>> symbols;
    std::uint64_t name = 0;
    for (Numbers numbers(symbol_line); !numbers.done();) {
      name += numbers.next();
      const std::uint64_t module = numbers.next();
      symbols.push_back({name, module, numbers.next()});
    }
    std::vector<std::uint64_t> of_node, first_child(symbols.size(), 0);
    std::vector<std::int64_t> parents;
    for (Numbers numbers(node_line); !numbers.done();) {
      const std::uint64_t flags = numbers.next();
      std::int64_t above = static_cast<std::int64_t>(of_node.size()) - 1;
      for (std::uint64_t up = flags / 8; up > 0; --up) above = parents[static_cast<std::size_t>(above)];
      const auto at = static_cast<std::size_t>(above);
      const std::uint64_t symbol = flags & 4 ? first_child[of_node[at]] : numbers.next();
      if (above >= 0 && flags / 8 == 0) first_child[of_node[at]] = symbol;
      const analysis::TreeNode& node = tree.nodes[of_node.size()];
      ASSERT_EQ(symbols[symbol][0], node.name) << "seed " << seed;
      ASSERT_EQ(symbols[symbol][1], node.module);
      ASSERT_EQ(symbols[symbol][2], coloring.of_node[of_node.size()]);
      ASSERT_EQ(std::max<std::int64_t>(above, 0), node.parent);
      ASSERT_EQ(flags & 1 ? static_cast<std::int64_t>(numbers.next()) : 0, node.self);
      of_node.push_back(symbol);
      parents.push_back(above);
    }
    EXPECT_EQ(of_node.size(), tree.nodes.size());
  }
}

}  // namespace
}  // namespace fathom::present
