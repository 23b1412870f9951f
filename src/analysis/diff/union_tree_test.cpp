#include "analysis/diff/union_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "analysis/core/functions.h"
#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

UnionRun one(const model::Profile& profile) {
  return {&profile, TreeOptions{}, {}};
}

// The self values of all places with this name, by run of one piece.
std::vector<std::int64_t> self_of(const UnionTree& tree, const std::string& name) {
  std::vector<std::int64_t> sums(tree.pieces, 0);
  for (std::size_t place = 0; place < tree.places.size(); ++place) {
    if (tree.names[tree.places[place].name] != name) continue;
    for (std::size_t i = 0; i < tree.pieces; ++i) sums[i] += tree.place_self[place * tree.pieces + i];
  }
  return sums;
}
std::size_t places_called(const UnionTree& tree, const std::string& name) {
  return static_cast<std::size_t>(
      std::count_if(tree.places.begin(), tree.places.end(),
                    [&](const UnionPlace& place) { return tree.names[place.name] == name; }));
}

struct OneFunction {
  HandMade hand;
  model::ModuleId app;
  model::ThreadId thread;
  explicit OneFunction(const std::string& thread_name = "main", const std::string& program = "app") {
    app = hand.module(program);
    const auto process = hand.process(10, program);
    hand.profile.processes[0].executable = hand.builder.string("/usr/bin/" + program);
    thread = hand.thread(process, 10, thread_name);
  }
  void run(const std::vector<model::FrameId>& frames, int samples) {
    hand.sample(thread, hand.stack(frames), samples);
  }
};

TEST(UnionTree, ARenamedProgramAndNumberedThreadsAreTheSame) {
  OneFunction old_one("worker-1", "server-old"), new_one("worker-7", "server-new");
  old_one.run({old_one.hand.frame(old_one.app, {"serve"})}, 3);
  new_one.run({new_one.hand.frame(new_one.app, {"serve"})}, 5);
  const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
  EXPECT_EQ(tree.nodes.size(), 3u);  // root, thread, function
  EXPECT_EQ(self_of(tree, "serve"), (std::vector<std::int64_t>{3, 5}));
  EXPECT_EQ(places_called(tree, "worker-#"), 1u);
}

// The kernel names the first thread after the file.
TEST(UnionTree, MainThreadsOfARenamedProgramAreTheSame) {
  OneFunction old_one("sorter", "sorter"), new_one("sorter-fast", "sorter-fast");
  for (OneFunction* each : {&old_one, &new_one}) {
    each->hand.profile.threads[0].ran_ns = 1;
    each->run({each->hand.frame(each->app, {"sort_rows"})}, 3);
  }
  const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
  EXPECT_EQ(tree.nodes.size(), 3u);  // root, thread, function
  EXPECT_EQ(self_of(tree, "sort_rows"), (std::vector<std::int64_t>{3, 3}));
}

TEST(UnionTree, AFunctionInlinedOnOneSideIsOneFunction) {
  OneFunction old_one, new_one;
  old_one.run({old_one.hand.frame(old_one.app, {"main"}), old_one.hand.frame(old_one.app, {"hash"})}, 3);
  new_one.run({new_one.hand.frame(new_one.app, {"hash", "main"})}, 5);
  const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
  EXPECT_EQ(self_of(tree, "hash"), (std::vector<std::int64_t>{3, 5}));
  EXPECT_EQ(places_called(tree, "hash"), 1u);
}

TEST(UnionTree, SplitAndNumberedCopiesAreOneFunctionButGenericInstancesAreNot) {
  OneFunction old_one, new_one;
  old_one.run({old_one.hand.frame(old_one.app, {"f.llvm.1"})}, 1);
  old_one.run({old_one.hand.frame(old_one.app, {"f.part.0"})}, 1);
  new_one.run({new_one.hand.frame(new_one.app, {"f.cold"})}, 5);
  new_one.run({new_one.hand.frame(new_one.app, {"g<int>"})}, 1);
  new_one.run({new_one.hand.frame(new_one.app, {"g<long>"})}, 1);
  const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
  EXPECT_EQ(self_of(tree, "f"), (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(places_called(tree, "g<int>") + places_called(tree, "g<long>"), 2u);
}

TEST(UnionTree, AddressesMatchOnlyWithinOneBuild) {
  for (const bool same : {true, false}) {
    OneFunction old_one, new_one;
    old_one.hand.profile.modules[old_one.app.value].build_id = old_one.hand.builder.string("aa");
    new_one.hand.profile.modules[new_one.app.value].build_id =
        new_one.hand.builder.string(same ? "aa" : "bb");
    old_one.run({old_one.hand.unnamed(old_one.app, 0x100)}, 3);
    new_one.run({new_one.hand.unnamed(new_one.app, 0x100)}, 5);
    const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
    const std::string name = same ? "[app+0x100]" : "[unnamed in app]";
    EXPECT_EQ(self_of(tree, name), (std::vector<std::int64_t>{3, 5})) << name;
    for (const UnionPlace& place : tree.places) {
      if (tree.names[place.name] == name) {
        EXPECT_EQ(place.unmatched, !same);
      }
    }
  }
}

// Two builds of a stripped program in which every function has moved; `codes`: by function of each.
struct StrippedBuild : OneFunction {
  std::vector<std::uint64_t> codes;
  explicit StrippedBuild(const std::string& build_id) {
    hand.profile.modules[app.value].build_id = hand.builder.string(build_id);
  }
  void run(const std::string& address, std::uint64_t code, int samples) {
    OneFunction::run({hand.frame(app, {"app@0x" + address})}, samples);
    codes.resize(hand.profile.functions.size(), 0);
    codes.back() = code;
  }
  UnionRun as_run() const { return {&hand.profile, TreeOptions{}, {}, codes}; }
};

TEST(UnionTree, EachKernelHasItsOwnBuildOfTheVdso) {
  const auto with_kernel = [](const std::string& release) {
    OneFunction one;
    const auto vdso = one.hand.module("[vdso]", model::ModuleKind::kVdso, model::SymbolSource::kNone);
    one.run({one.hand.frame(vdso, {"[vdso]@0x10"})}, 3);
    one.hand.profile.meta.facts["kernel"] = release;
    return std::move(one.hand.profile);
  };
  const model::Profile a = with_kernel("6.1.0"), b = with_kernel("6.1.0"), other = with_kernel("6.2.0");
  EXPECT_EQ(places_called(build_union_tree({one(a), one(b)}), "[unnamed in [vdso]]"), 0u);
  EXPECT_EQ(places_called(build_union_tree({one(a), one(other)}), "[unnamed in [vdso]]"), 1u);
}

TEST(UnionTree, FunctionsWithoutNamesMatchTheirCodeInAnotherBuild) {
  StrippedBuild old_one("aa"), new_one("bb");
  old_one.run("100", 7, 3);
  old_one.run("200", 8, 4);
  old_one.run("300", 0, 1);
  new_one.run("120", 7, 5);
  new_one.run("200", 9, 6);  // another one at the same place
  const UnionTree tree = build_union_tree({old_one.as_run(), new_one.as_run()});
  EXPECT_EQ(self_of(tree, "app@0x100"), (std::vector<std::int64_t>{3, 5}));
  EXPECT_EQ(self_of(tree, "[unnamed in app]"), (std::vector<std::int64_t>{5, 6}))
      << "what only one build has";
  for (const UnionPlace& place : tree.places) {
    EXPECT_EQ(place.by_code, tree.names[place.name] == "app@0x100");
  }
  const UnionTree turned = build_union_tree({new_one.as_run(), old_one.as_run()});
  EXPECT_EQ(self_of(turned, "app@0x120"), (std::vector<std::int64_t>{5, 3}));
}

// The unmatched rest of a stripped program showed up as gone in base and as new in the other side, because
// its file had another name.
TEST(UnionTree, TheUnmatchedRestOfAProgramIsOneRowForAnyFileName) {
  OneFunction old_one("main", "server-old"), new_one("main", "server-new");
  for (OneFunction* side : {&old_one, &new_one})
    side->hand.profile.modules[side->app.value].path = side->hand.profile.processes[0].executable;
  old_one.run({old_one.hand.unnamed(old_one.app, 0x100)}, 3);
  new_one.run({new_one.hand.unnamed(new_one.app, 0x200)}, 5);
  const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
  EXPECT_EQ(self_of(tree, "[unnamed in server-old]"), (std::vector<std::int64_t>{3, 5}));
}

TEST(UnionTree, FunctionsThatLookAlikeInOneBuildMatchNone) {
  StrippedBuild old_one("aa"), new_one("bb");
  old_one.run("100", 7, 3);
  old_one.run("200", 7, 4);
  new_one.run("120", 7, 5);
  const UnionTree tree = build_union_tree({old_one.as_run(), new_one.as_run()});
  EXPECT_EQ(self_of(tree, "[unnamed in app]"), (std::vector<std::int64_t>{7, 5}));
}

TEST(UnionTree, AllThreeBuildsMustHaveTheCode) {
  StrippedBuild first("aa"), second("bb"), third("cc");
  first.run("100", 7, 3);
  second.run("110", 7, 4);
  third.run("120", 8, 5);
  const auto matched = [](const UnionTree& tree) {
    return std::any_of(tree.places.begin(), tree.places.end(), [](const UnionPlace& p) { return p.by_code; });
  };
  EXPECT_TRUE(matched(build_union_tree({first.as_run(), second.as_run()})));
  EXPECT_FALSE(matched(build_union_tree({first.as_run(), second.as_run(), third.as_run()})));
}

TEST(UnionTree, AFrameThatOneSideLacksStays) {
  OneFunction old_one, new_one;
  old_one.run({old_one.hand.frame(old_one.app, {"gone"})}, 3);
  new_one.run({new_one.hand.frame(new_one.app, {"added"})}, 5);
  const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
  EXPECT_EQ(self_of(tree, "gone"), (std::vector<std::int64_t>{3, 0}));
  EXPECT_EQ(self_of(tree, "added"), (std::vector<std::int64_t>{0, 5}));
}

TEST(UnionTree, RecursionCountsOnce) {
  OneFunction side;
  const auto walk = side.hand.frame(side.app, {"walk"});
  side.run({walk, walk, walk}, 4);
  const UnionTree tree = build_union_tree({one(side.hand.profile)});
  for (std::size_t place = 0; place < tree.places.size(); ++place) {
    if (tree.names[tree.places[place].name] == "walk") {
      EXPECT_EQ(tree.place_total[place], 4);
    }
  }
}

// For any recordings: no value is missing, and the sums by node, function and module are those of the trees.
TEST(UnionTree, SumsEqualThoseOfTheRecordings) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 1000);
    const UnionTree tree = build_union_tree({one(a), one(b)});
    const std::int64_t totals[] = {build_call_tree(a, {}).total, build_call_tree(b, {}).total};
    for (std::size_t run = 0; run < 2; ++run) {
      std::int64_t nodes = 0, places = 0, modules = 0;
      for (std::size_t node = 0; node < tree.nodes.size(); ++node) nodes += tree.node_self[node * 2 + run];
      for (std::size_t place = 0; place < tree.places.size(); ++place) {
        if (tree.places[place].kind != NodeKind::kCause) places += tree.place_self[place * 2 + run];
      }
      for (std::size_t module = 0; module < tree.modules.size(); ++module)
        modules += tree.module_self[module * 2 + run];
      EXPECT_EQ(tree.whole[run], totals[run]) << seed;
      EXPECT_EQ(nodes, totals[run]) << seed;
      EXPECT_EQ(modules, places) << seed;
      EXPECT_EQ(places + tree.node_self[run], totals[run]) << seed;  // the root's self value has no place
    }
  }
}

// Before the single pass, each piece was a tree of its own; the result must be the same.
TEST(UnionTree, PiecesEqualOneTreeEach) {
  using model::Metric;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 1000);
    for (const Metric metric : {Metric::kCpu, Metric::kOffCpu, Metric::kWall}) {
      TreeOptions options;
      options.selection.metric = metric;
      options.drop_idle = options.fold_kernel = seed % 2 == 0;
      const auto cuts_of = [](const model::Profile& profile) {
        const std::uint64_t length = profile.meta.end_ns - profile.meta.start_ns;
        return std::vector<std::uint64_t>{length / 3, length / 2};
      };
      const UnionTree tree = build_union_tree({{&a, options, cuts_of(a)}, {&b, options, cuts_of(b)}});
      ASSERT_EQ(tree.pieces, 6u);
      double effective[2] = {0, 0};
      std::uint64_t samples[2] = {0, 0};
      for (std::size_t piece = 0; piece < 6; ++piece) {
        const model::Profile& profile = piece < 3 ? a : b;
        const std::vector<std::uint64_t> cuts = cuts_of(profile);
        TreeOptions part = options;
        if (piece % 3 != 0) part.selection.from_ns = cuts[piece % 3 - 1];
        if (piece % 3 != 2) part.selection.to_ns = cuts[piece % 3];
        const CallTree alone = build_call_tree(profile, part);
        EXPECT_EQ(tree.whole[piece], alone.total) << seed;
        effective[piece / 3] = std::min(kExact, effective[piece / 3] + alone.effective_samples);
        samples[piece / 3] += alone.samples;
        // A union of the piece alone, with names as in both profiles, has the same values.
        const UnionTree single = build_union_tree({{&profile, part, {}}, {piece < 3 ? &b : &a, options, {}}});
        std::map<std::string, std::array<std::int64_t, 2>> expected, found;
        for (std::size_t place = 0; place < single.places.size(); ++place) {
          auto& [self, total] = expected[single.names[single.places[place].name]];
          self += single.place_self[2 * place];
          total += single.place_total[2 * place];
        }
        for (std::size_t place = 0; place < tree.places.size(); ++place) {
          auto& [self, total] = found[tree.names[tree.places[place].name]];
          self += tree.place_self[place * tree.pieces + piece];
          total += tree.place_total[place * tree.pieces + piece];
        }
        for (const auto& [name, values] : found)
          EXPECT_EQ(values, (expected[name])) << name << ", seed " << seed << ", piece " << piece;
        for (const auto& [name, values] : expected) EXPECT_EQ(values, found[name]) << name;
      }
      for (std::size_t run = 0; run < 2; ++run) {
        EXPECT_DOUBLE_EQ(tree.effective[run], effective[run]) << seed;
        EXPECT_EQ(tree.samples[run], samples[run]) << seed;
      }
    }
  }
}

// By function, compared with the table of an ordinary report.
TEST(UnionTree, FunctionsHaveTheValuesOfAReport) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const UnionTree tree = build_union_tree({one(profile)});
    const CallTree alone = build_call_tree(profile, {});
    std::int64_t expected = 0, found = 0;
    std::vector<std::int64_t> totals_expected, totals_found;
    for (const FunctionRow& row : function_table(alone, SortBy::kTotal)) {
      if (row.kind == NodeKind::kThread || row.kind == NodeKind::kCause) continue;
      expected += row.self;
      totals_expected.push_back(row.total);
    }
    for (std::size_t place = 0; place < tree.places.size(); ++place) {
      if (tree.places[place].kind == NodeKind::kThread || tree.places[place].kind == NodeKind::kCause)
        continue;
      found += tree.place_self[place];
      totals_found.push_back(tree.place_total[place]);
    }
    EXPECT_EQ(found, expected) << seed;
    // Functions that share a stable name are joined; totals are only comparable if there are none.
    if (totals_found.size() == totals_expected.size()) {
      std::sort(totals_found.begin(), totals_found.end(), std::greater<>());
      EXPECT_EQ(totals_found, totals_expected) << seed;
    }
  }
}

TEST(UnionTree, ADrawingHasEveryFrameWithAValue) {
  OneFunction old_one, new_one;
  old_one.run({old_one.hand.frame(old_one.app, {"main"}), old_one.hand.frame(old_one.app, {"gone"})}, 3);
  new_one.run({new_one.hand.frame(new_one.app, {"main"}), new_one.hand.frame(new_one.app, {"added"})}, 5);
  const UnionTree tree = build_union_tree({one(old_one.hand.profile), one(new_one.hand.profile)});
  std::vector<std::int64_t> both(tree.nodes.size());
  for (std::size_t node = 0; node < both.size(); ++node)
    both[node] = tree.node_self[2 * node] + tree.node_self[2 * node + 1];
  std::vector<std::uint32_t> origin;
  const CallTree drawn = as_call_tree(tree, both, origin);
  ASSERT_EQ(origin.size(), drawn.nodes.size());
  EXPECT_EQ(drawn.total, 8);
  std::vector<std::string> names;
  for (const TreeNode& node : drawn.nodes) names.push_back(drawn.name(node));
  EXPECT_EQ(names, (std::vector<std::string>{"all", "main", "main", "added", "gone"}));
  EXPECT_EQ(drawn.nodes[2].total, 8);
  EXPECT_EQ(drawn.nodes[3].next_sibling, 4u);
}

}  // namespace
}  // namespace fathom::analysis
