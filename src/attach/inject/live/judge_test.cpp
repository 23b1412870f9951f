// Streams of hits as real processes produce them, and streams that contradict the labels.
#include "attach/inject/live/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace fathom::inject {
namespace {

using ::testing::HasSubstr;
using Kind = Verdict::Kind;

constexpr std::uint64_t kHeap = 0x7f00'0000'0000, kHeapBytes = 1 << 24, kCode = 0x5500'0000'0000,
                        kStack = 0x7fff'ff00'0000;

process::MapEntry mapped(std::uint64_t start, std::uint64_t bytes, bool writable, const char* path,
                         std::uint64_t inode) {
  process::MapEntry entry;
  entry.start = {start};
  entry.end = {start + bytes};
  entry.readable = true;
  entry.writable = writable;
  entry.executable = !writable;
  entry.path = path;
  entry.inode = inode;
  return entry;
}
std::vector<process::MapEntry> maps() {
  return {mapped(kCode, 0x10000, false, "/opt/node", 7), mapped(kHeap, kHeapBytes, true, "", 0),
          mapped(kStack, 0x100000, true, "[stack]", 0)};
}

// A program with an allocator that reuses the most recently freed block first, and that logs each call of it.
class Program {
 public:
  explicit Program(unsigned seed = 1) : random_(seed) {}

  std::uint64_t allocate(std::uint64_t size, int thread = 1) {
    const std::uint64_t block = place();
    hit(Point::kGives, thread, {size, 77, 0});
    hit(Point::kGave, thread, {5, 6, block});
    return block;
  }
  // Allocates through the slow path, whose return is not watched.
  std::uint64_t allocate_slowly(std::uint64_t size, int thread = 1) {
    hit(Point::kGives, thread, {size, 77, 0});
    return place();
  }
  void release(std::uint64_t block, std::uint64_t size, int thread = 1) {
    hit(Point::kFrees, thread, {block, size, 0});
    forget(block);
  }
  void resize(std::uint64_t block, std::uint64_t size, int thread = 1) {
    hit(Point::kResizes, thread, {block, size, 0});
    forget(block);
  }
  void forget(std::uint64_t block) { free_.push_back(block); }
  std::uint64_t place() {
    if (!free_.empty()) {
      const std::uint64_t block = free_.back();
      free_.pop_back();
      return block;
    }
    return next_ += 4096;
  }
  struct Words {
    std::uint64_t first, second, result;
  };
  void hit(Point point, int thread, const Words& words) {
    hits.push_back({++time_, thread, point, stack, kCode + 0x123, words.first, words.second, words.result});
  }
  // A mix of all operations, in two threads.
  void work(int rounds) {
    std::deque<std::pair<std::uint64_t, std::uint64_t>> live;
    for (int i = 0; i < rounds; ++i) {
      const std::uint64_t size = random_() % 3000 + 1;
      const int thread = 1 + static_cast<int>(random_() % 2);
      stack = kStack + 0x80000 + random_() % 64 * 16 + static_cast<std::uint64_t>(thread) * 0x1000;
      if (random_() % 8 == 0)
        forget(allocate_slowly(size, thread));
      else
        live.emplace_back(allocate(size, thread), size);
      while (live.size() > 10) {
        const auto [block, had] = live.front();
        live.pop_front();
        if (random_() % 10 == 0)
          resize(block, had * 2, thread);
        else
          release(block, had, thread);
      }
    }
  }

  std::vector<Hit> hits;
  std::uint64_t stack = kStack + 0x80000;

 private:
  std::mt19937 random_;
  std::vector<std::uint64_t> free_;
  std::uint64_t next_ = kHeap, time_ = 0;
};

const Belief kSized{.frees_tell_size = true, .all_ends_watched = true};

Verdict verdict_of(const std::vector<Hit>& hits, const Belief& belief = kSized, std::uint64_t lost = 0) {
  MemoryPicture memory;
  memory.add(maps());
  return judge(hits, lost, memory, belief);
}

TEST(Judge, ProgramThatMatchesTheLabelsIsConfirmed) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Program program(seed);
    program.work(200);
    const Verdict verdict = verdict_of(program.hits);
    EXPECT_EQ(verdict.kind, Kind::kConfirmed) << seed << ": " << verdict.why;
    EXPECT_EQ(verdict.hits, program.hits.size());
    EXPECT_GT(verdict.blocks, 150u);
    EXPECT_EQ(verdict.equal_sizes, verdict.known_frees);
    EXPECT_GT(verdict.known_resizes, 0u);
  }
}

TEST(Judge, CountsEqualThoseOfTheProgram) {
  Program program;
  for (int i = 0; i < 30; ++i) {
    const auto block = program.allocate(100);
    if (i % 3 == 0)
      program.resize(block, 200);
    else
      program.release(block, 100);
  }
  program.release(0, 0);
  program.release(kHeap + 4096 * 40, 5);  // allocated before the watch
  const Verdict verdict = verdict_of(program.hits);
  EXPECT_EQ(verdict.kind, Kind::kConfirmed) << verdict.why;
  EXPECT_EQ(verdict.calls, 30u);
  EXPECT_EQ(verdict.blocks, 30u);
  EXPECT_EQ(verdict.frees, 21u);
  EXPECT_EQ(verdict.known_frees, 20u);
  EXPECT_EQ(verdict.equal_sizes, 20u);
  EXPECT_EQ(verdict.known_resizes, 10u);
  EXPECT_EQ(verdict.describe(), "30 blocks given, 20 of them freed, each with its size, 10 resized");
}

TEST(Judge, QuietProcessGivesNoVerdict) {
  EXPECT_EQ(verdict_of({}).kind, Kind::kQuiet);
  EXPECT_EQ(verdict_of({}).why, "nothing was called");
  Program program;
  for (int i = 0; i < 19; ++i) program.release(program.allocate(100), 100);
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kQuiet);
  program.release(program.allocate(100), 100);
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kConfirmed);
}

TEST(Judge, ProcessThatNeverFreesGivesNoVerdict) {
  Program program;
  for (int i = 0; i < 100; ++i) program.allocate(100);
  for (int i = 0; i < 4; ++i) program.release(program.allocate(100), 100);
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kQuiet);
  EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("104 blocks given, 4 of them freed"));
}

TEST(Judge, SwappedLabelsAreContradicted) {
  Program program;
  program.work(200);
  std::vector<Hit> hits = program.hits;
  for (Hit& each : hits)
    each.point = each.point == Point::kGives   ? Point::kFrees
                 : each.point == Point::kFrees ? Point::kGives
                                               : each.point;
  const Verdict verdict = verdict_of(hits);
  EXPECT_EQ(verdict.kind, Kind::kContradicted);
  EXPECT_THAT(verdict.why, HasSubstr("sizes asked for are none"));
  EXPECT_THAT(verdict.why, HasSubstr("blocks freed lie where no heap is"));
  EXPECT_THAT(verdict.why, HasSubstr("returns belong to no call"));
}

TEST(Judge, CallocLabelledAsMallocIsContradictedByTheSizesOfFrees) {
  std::vector<Hit> hits;
  Program program;
  for (int i = 0; i < 100; ++i) {
    const auto block = program.allocate(4);
    program.hits[program.hits.size() - 2].second = 25;  // 4 times 25
    program.release(block, 100);
  }
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kContradicted);
  EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("100 of 100 blocks were freed with another size"));
  Belief belief = kSized;
  belief.multiplies = true;
  EXPECT_EQ(verdict_of(program.hits, belief).kind, Kind::kConfirmed);
  program.hits[0].second = std::uint64_t{1} << 63;  // the product overflows
  EXPECT_THAT(verdict_of(program.hits, belief).kind, Kind::kConfirmed);
}

TEST(Judge, SizesOfTheSameClassCountAsEqual) {
  Program program;
  for (int i = 0; i < 100; ++i) program.release(program.allocate(100), 112);
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kContradicted);
  Belief belief = kSized;
  belief.same_size = [](std::uint64_t given, std::uint64_t freed) {
    return (given + 15) / 16 == (freed + 15) / 16;
  };
  EXPECT_EQ(verdict_of(program.hits, belief).kind, Kind::kConfirmed);
}

// Four registers are not enough to watch every function that frees: rallocx frees a block of 100 bytes
// aligned to 64, which takes 128, and calloc reuses the place for one of 120.
TEST(Judge, PlaceOfABlockWithAnUnwatchedFreeGoesToOneOfItsClass) {
  Belief belief = kSized;
  belief.all_ends_watched = false;
  belief.same_size = [](std::uint64_t given, std::uint64_t freed) {
    return (given + 15) / 16 == (freed + 15) / 16;
  };
  for (std::uint64_t log = 0; log <= 12; ++log)
    for (std::uint64_t size = 1; size <= 300; size += 7) {
      const std::uint64_t alignment = std::uint64_t{1} << log,
                          whole = (size + alignment - 1) / alignment * alignment;
      const auto equal_sizes = [&](std::uint64_t freed) {
        Program program;
        const auto block = program.allocate(size);
        program.hits[0].second = log | 0x40;  // zeroed
        program.release(block, freed);
        return verdict_of(program.hits, belief).equal_sizes;
      };
      belief.flags_tell_alignment = true;
      EXPECT_EQ(equal_sizes(size), 1u);
      EXPECT_EQ(equal_sizes(whole), 1u) << size << " at " << alignment;
      EXPECT_EQ(equal_sizes(whole + 17), 0u) << size << " at " << alignment;
      belief.flags_tell_alignment = false;
      EXPECT_EQ(equal_sizes(whole), (size + 15) / 16 == (whole + 15) / 16) << size << " at " << alignment;
    }
}

TEST(Judge, BlockOutsideTheHeapIsAContradiction) {
  for (const std::uint64_t place :
       {kCode + 0x100, kStack + 0x100, std::uint64_t{0x1000}, std::uint64_t{1} << 60}) {
    Program program;
    program.work(100);
    program.hit(Point::kGives, 1, {100, 0, 0});
    program.hit(Point::kGave, 1, {0, 0, place});
    EXPECT_EQ(verdict_of(program.hits).kind, Kind::kContradicted) << place;
    EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("blocks given lie where no heap is"));
    Program frees;
    frees.work(100);
    frees.release(place, 100);
    EXPECT_THAT(verdict_of(frees.hits).why, HasSubstr("blocks freed lie where no heap is")) << place;
    Program resizing;
    resizing.work(100);
    resizing.resize(place, 100);
    EXPECT_THAT(verdict_of(resizing.hits).why, HasSubstr("blocks resized lie where no heap is")) << place;
  }
}

// A large block may be mapped and unmapped between two readings of the maps.
TEST(Judge, UnmappedMemoryIsNoEvidence) {
  Program program;
  program.work(100);
  program.release(0x7e00'0000'0010, 1 << 25);
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kConfirmed);
  // Memory that was mapped in one reading counts.
  MemoryPicture memory;
  memory.add({});
  memory.add(maps());
  EXPECT_EQ(judge(program.hits, 0, memory, kSized).kind, Kind::kConfirmed);
  EXPECT_EQ(memory.kind_of(kHeap), MemoryPicture::Kind::kAnonymous);
  EXPECT_EQ(memory.kind_of(kHeap - 1), MemoryPicture::Kind::kUnknown);
  EXPECT_EQ(memory.kind_of(kCode), MemoryPicture::Kind::kOther);
}

TEST(Judge, BlockGivenOverALiveOneIsAContradiction) {
  Program program;
  program.work(100);
  const auto block = program.allocate(100);
  program.hit(Point::kGives, 1, {100, 0, 0});
  program.hit(Point::kGave, 1, {0, 0, block + 96});
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kContradicted);
  EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("1 of "));
  EXPECT_THAT(verdict_of(program.hits).why,
              HasSubstr("blocks were handed out over a block that was not freed"));
  // If another function may have freed it, it is no evidence.
  Belief belief = kSized;
  belief.all_ends_watched = false;
  for (int i = 0; i < 500; ++i) {
    program.hit(Point::kGives, 1, {100, 0, 0});
    program.hit(Point::kGave, 1, {0, 0, block});
  }
  EXPECT_EQ(verdict_of(program.hits, belief).kind, Kind::kConfirmed);
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kContradicted);
}

TEST(Judge, SizesMayDifferAsOftenAsUnseenCallsExplain) {
  const auto with = [](int wrong, bool all_ends_watched, std::uint64_t lost = 0) {
    Program program;
    for (int i = 0; i < 100; ++i) program.release(program.allocate(100), i < wrong ? 200 : 100);
    Belief belief = kSized;
    belief.all_ends_watched = all_ends_watched;
    return verdict_of(program.hits, belief, lost).kind;
  };
  EXPECT_EQ(with(0, true), Kind::kConfirmed);
  EXPECT_EQ(with(1, true), Kind::kContradicted);
  EXPECT_EQ(with(90, false), Kind::kConfirmed);
  EXPECT_EQ(with(91, false), Kind::kContradicted);
  for (const int lost : {1, 30, 90}) {
    EXPECT_EQ(with(lost, true, static_cast<std::uint64_t>(lost)), Kind::kConfirmed);
    EXPECT_EQ(with(lost + 1, true, static_cast<std::uint64_t>(lost)), Kind::kContradicted);
  }
  EXPECT_EQ(with(91, true, 1000), Kind::kContradicted);
}

TEST(Judge, LostHitsAreNoContradiction) {
  std::mt19937 random(3);
  for (unsigned seed = 1; seed <= 200; ++seed) {
    Program program(seed);
    program.work(400);
    std::uint64_t lost = 0;
    std::vector<Hit> arrived;
    for (const Hit& each : program.hits) {
      if (random() % 100 < seed % 8)
        ++lost;
      else
        arrived.push_back(each);
    }
    const Verdict verdict = verdict_of(arrived, kSized, lost);
    EXPECT_EQ(verdict.why.find("with another size"), std::string::npos)
        << lost << " of " << program.hits.size() << ": " << verdict.why;
  }
}

TEST(Judge, AdjacentBlocksAreNoContradiction) {
  Program program;
  program.work(100);
  for (int i = 0; i < 100; ++i) {
    program.hit(Point::kGives, 1, {112, 0, 0});
    program.hit(Point::kGave, 1, {0, 0, kHeap + (1 << 20) + static_cast<std::uint64_t>(i) * 112});
  }
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kConfirmed) << verdict_of(program.hits).why;
}

TEST(Judge, ReturnWithoutACallIsAContradiction) {
  Program program;
  program.work(100);
  program.hit(Point::kGives, 1, {100, 0, 0});
  program.stack += 16;
  program.hit(Point::kGave, 1, {0, 0, program.place()});
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kContradicted);
  EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("1 of "));
  EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("returns belong to no call"));
  // If hits were lost, its call may be one of them.
  EXPECT_EQ(verdict_of(program.hits, kSized, 1).kind, Kind::kConfirmed);
}

TEST(Judge, ReturnToAnotherCallerIsAContradiction) {
  Program program;
  program.work(100);
  program.allocate(100);
  program.hits.back().return_to += 1;
  EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("returns belong to no call"));
}

TEST(Judge, FirstReturnOfAThreadMayBelongToAnEarlierCall) {
  Program program;
  program.hit(Point::kGave, 1, {0, 0, kHeap});
  program.hit(Point::kGave, 2, {0, 0, kHeap});
  program.work(100);
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kConfirmed) << verdict_of(program.hits).why;
}

TEST(Judge, SignalHandlerMayCallBetweenACallAndItsReturn) {
  Program program;
  program.work(100);
  const std::uint64_t stack = program.stack;
  program.hit(Point::kGives, 1, {100, 0, 0});
  program.stack = stack - 0x400;
  program.allocate(60);
  program.allocate_slowly(50);  // its return is not watched
  program.stack = stack;
  program.hit(Point::kGave, 1, {0, 0, program.place()});
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kConfirmed) << verdict_of(program.hits).why;
}

TEST(Judge, AFewInvalidSizesAreTolerated) {
  Program program;
  program.work(200);
  program.hit(Point::kGives, 1, {~std::uint64_t{0}, 0, 0});
  program.hit(Point::kGave, 1, {0, 0, 0});
  EXPECT_EQ(verdict_of(program.hits).kind, Kind::kConfirmed) << verdict_of(program.hits).why;
  for (int i = 0; i < 10; ++i) program.hit(Point::kGives, 1, {kHeap, 0, 0});
  EXPECT_THAT(verdict_of(program.hits).why, HasSubstr("11 of 211 sizes asked for are none"));
}

// Any register values of a malicious program, in any order.
TEST(Judge, AnyStreamGetsAVerdictThatItsCountsSupport) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    Program program(static_cast<unsigned>(round));
    program.work(static_cast<int>(random() % 60));
    std::vector<Hit> hits = program.hits;
    const std::uint64_t odd[] = {0,     1,      ~std::uint64_t{0},     kHeap, kHeap + 8,
                                 kCode, kStack, std::uint64_t{1} << 47};
    for (std::uint64_t changes = random() % 40; changes > 0 && !hits.empty(); --changes) {
      Hit& hit = hits[random() % hits.size()];
      const std::uint64_t value = random() % 3 == 0 ? random() : odd[random() % std::size(odd)];
      switch (random() % 7) {
        case 0:
          hit.first = value;
          break;
        case 1:
          hit.second = value;
          break;
        case 2:
          hit.result = value;
          break;
        case 3:
          hit.stack = value;
          break;
        case 4:
          hit.return_to = value;
          break;
        case 5:
          hit.point = static_cast<Point>(random() % kPoints);
          break;
        default:
          hit.thread = static_cast<std::int32_t>(value);
          break;
      }
    }
    if (round % 3 == 0) std::ranges::shuffle(hits, random);
    Belief belief = kSized;
    belief.all_ends_watched = round % 2 == 0;
    const Verdict verdict = verdict_of(hits, belief, random() % 3);
    EXPECT_EQ(verdict.hits, hits.size());
    EXPECT_LE(verdict.blocks, verdict.calls);
    EXPECT_LE(verdict.known_frees, verdict.frees);
    EXPECT_LE(verdict.known_frees + verdict.known_resizes, verdict.blocks);
    EXPECT_LE(verdict.equal_sizes, verdict.known_frees);
    EXPECT_EQ(verdict.kind == Kind::kConfirmed, verdict.why.empty());
    if (verdict.kind == Kind::kConfirmed) {
      EXPECT_GE(verdict.blocks, kEnoughBlocks);
      EXPECT_GE(verdict.known_frees, kEnoughFrees);
    }
  }
}

TEST(CompleteStretch, EndsWithTheFirstPointThatIsDisabled) {
  std::vector<Hit> hits;
  for (std::uint64_t i = 0; i < 20; ++i)
    hits.push_back({.time_ns = 19 - i, .thread = i < 10 ? 1 : 2, .point = Point::kGives});
  const auto times = [](const std::vector<Hit>& of) {
    std::vector<std::uint64_t> all;
    for (const Hit& each : of) all.push_back(each.time_ns);
    return all;
  };
  EXPECT_THAT(times(complete_stretch(hits, 7, 100, 100)),
              ::testing::ElementsAre(7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
  // Thread 2 has the first ten; its eighth is at 7, and earlier hits count as well.
  EXPECT_THAT(times(complete_stretch(hits, 5, 100, 8)), ::testing::ElementsAre(5, 6, 7));
  EXPECT_THAT(times(complete_stretch(hits, 3, 6, 100)), ::testing::ElementsAre(3, 4, 5));
  EXPECT_THAT(complete_stretch({}, 0, 1, 1), ::testing::IsEmpty());
}

}  // namespace
}  // namespace fathom::inject
