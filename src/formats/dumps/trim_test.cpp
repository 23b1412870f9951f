#include "formats/dumps/trim.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::dumps {
namespace {

class TrimmedFrames : public testing::Test {
 protected:
  TrimmedFrames() {
    hand_.profile.heap.heaps.push_back({});
    app_ = hand_.module("server", model::ModuleKind::kFile, model::SymbolSource::kSymtab);
    library_ = hand_.module("libjemalloc.so.2", model::ModuleKind::kFile, model::SymbolSource::kNone);
  }
  // The function at the leaf after trimming; `names` starts at the root.
  std::string leaf_of(const std::vector<std::pair<model::ModuleId, std::string_view>>& names) {
    std::vector<model::FrameId> frames;
    for (const auto& [module, name] : names) frames.push_back(hand_.frame(module, {std::string(name)}));
    hand_.profile.heap.sites = {{{0}, hand_.stack(frames), {}, model::kNoThread, 0}};
    trim_allocator_frames(hand_.profile);
    const model::Profile& profile = hand_.profile;
    const model::Stack& leaf = profile.stacks[profile.heap.sites[0].stack.value];
    const model::Frame& frame = profile.frames[leaf.frame.value];
    return std::string(
        profile.strings[profile.functions[profile.lines[frame.first_line].function.value].name]);
  }
  analysis::HandMade hand_;
  model::ModuleId app_, library_;
};

TEST_F(TrimmedFrames, OfALibraryAreRemovedWhateverTheirNames) {
  EXPECT_EQ(leaf_of({{app_, "main"},
                     {app_, "load"},
                     {library_, "libjemalloc.so.2@0x1045"},
                     {library_, "malloc_usable_size"}}),
            "load");
}

TEST_F(TrimmedFrames, OfAnAllocatorInTheProgramAreRemovedUpToItsEntryPoint) {
  EXPECT_EQ(leaf_of({{app_, "main"},
                     {app_, "<T as Load>::load"},
                     {app_, "_rjem_mallocx"},
                     {app_, "imalloc_body"},
                     {app_, "_rjem_je_prof_tctx_create"},
                     {app_, "prof_backtrace_impl"}}),
            "<T as Load>::load");
}

TEST_F(TrimmedFrames, OfTheProgramStayEvenWithSimilarNames) {
  EXPECT_EQ(leaf_of({{app_, "main"}, {app_, "arena_of_words"}, {app_, "load"}, {app_, "malloc"}}), "load");
}

TEST_F(TrimmedFrames, ACallerOfAnEntryPointStaysEvenIfNamedLikeAnInternalFunction) {
  EXPECT_EQ(leaf_of({{app_, "main"}, {app_, "arena_alloc"}, {app_, "malloc"}}), "arena_alloc");
}

TEST_F(TrimmedFrames, AStackOfNothingElseKeepsThem) {
  EXPECT_EQ(leaf_of({{library_, "malloc"}}), "malloc");
}

}  // namespace
}  // namespace fathom::dumps
