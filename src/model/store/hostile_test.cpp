// Malicious recordings that try to use up memory or time when opened: a run stands for any number of rows, so
// a few bytes can ask for very much. Each is read in its own process, and the test measures the cost.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/sanitized.h"
#include "model/store/column.h"
#include "model/store/testing.h"

namespace fathom::store {
namespace {

using testing::HasSubstr;

// A column of `rows` equal values.
void put_run(Bytes& out, std::uint64_t value, std::uint64_t rows) {
  Bytes run;
  put_varint(run, value);
  put_varint(run, rows - 1);
  out.push_back(std::byte{1});
  put_varint(out, run.size());
  out.insert(out.end(), run.begin(), run.end());
}

// Rows starting at `first`, with columns that are runs of these values.
Bytes run_rows(std::uint64_t first, std::uint64_t count, const std::vector<std::uint64_t>& values,
               std::optional<std::uint64_t> newest = {}) {
  Bytes body;
  put_varint(body, first);
  put_varint(body, count);
  if (newest) put_varint(body, *newest);
  for (const std::uint64_t value : values) put_run(body, value, count);
  return body;
}

Bytes section(unsigned number, const Bytes& body) {
  Bytes out;
  put_section(out, number, body);
  return out;
}

// Numbers of the format: docs/format.md.
constexpr unsigned kLineSection = 3, kFrameSection = 4, kStackSection = 5, kLateNameSection = 6,
                   kHeapSlices = 4, kHeapSites = 5, kHeapReturns = 10;

// A section of unknown type, filled with noise: data that compresses better than 1024 : 1 is stored
// uncompressed.
Bytes noise(std::size_t size) {
  std::mt19937 random(1);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return section(99, bytes);
}

struct Outcome {
  bool read = false;
  std::string error;  // its first 200 characters
  double cpu_s = 0;
  long peak_mib = 0;
};

Outcome outcome_of(const std::string& content, bool blocks = false) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ReadOptions options;
    if (blocks) options.blocks.emplace();
    const auto profile = read_text(content, options);
    const std::string text = profile ? "" : profile.error().message.substr(0, 200);
    [[maybe_unused]] const ssize_t told = ::write(ends[1], text.data(), text.size());
    ::_exit(profile ? 0 : 1);
  }
  ::close(ends[1]);
  Outcome outcome;
  char text[256];
  const ssize_t count = ::read(ends[0], text, sizeof text);
  if (count > 0) outcome.error.assign(text, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  rusage usage{};
  EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  outcome.read = status == 0;
  outcome.cpu_s = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  outcome.peak_mib = usage.ru_maxrss / 1024;
  return outcome;
}

// Whether the file is read or rejected, the cost stays low.
Outcome expect_bounded(const std::string& content, bool blocks = false) {
  const Outcome outcome = outcome_of(content, blocks);
  if (std::getenv("FATHOM_SHOW") != nullptr)
    fprintf(stderr, "%zu bytes: %.2f s, %ld MiB, %s\n", content.size(), outcome.cpu_s, outcome.peak_mib,
            outcome.read ? "read" : outcome.error.c_str());
#if !FATHOM_ADDRESS_SANITIZER  // it keeps freed memory, and takes several times as long
  EXPECT_LT(outcome.peak_mib, 512) << content.size() << " bytes: " << outcome.error;
  EXPECT_LT(outcome.cpu_s, 4) << content.size() << " bytes: " << outcome.error;
#endif
  if (!outcome.read) {
    EXPECT_THAT(outcome.error, HasSubstr("bytes of recording ask for more than"));
  }
  return outcome;
}

// The limit that rejects a recording: each limit must be enough by itself, so a test names the one it covers.
constexpr const char* kMemoryLimit = "MiB of memory";
constexpr const char* kRowLimit = "million rows";

// The recording asks for more than its size allows: even a fast machine that could read it must reject it.
void expect_refused(const std::string& content, const char* limit, bool blocks = false) {
  const Outcome outcome = expect_bounded(content, blocks);
  EXPECT_FALSE(outcome.read) << content.size() << " bytes";
  EXPECT_THAT(outcome.error, HasSubstr(limit));
}

TEST(Hostile, LostRowsTakeMemoryInProportionToTheFile) {
  for (const unsigned table : {kLineSection, kFrameSection, kStackSection}) {
    // Block 0 is missing, so a gap before the rows of block 1 is expected.
    const Bytes rows =
        run_rows(150'000'000, 1, {0, 0, 0, 0}, table == kFrameSection ? std::nullopt : std::optional(0));
    expect_refused(file_header() + block(kTables, 1, 0, section(table, rows)), kMemoryLimit);
  }
  expect_refused(file_header() + block(kTables, 1, 0, section(1, run_rows(40'000'000, 1, {0}))),
                 kMemoryLimit);
  for (const auto& [table, columns] : {std::pair(kHeapSlices, std::vector<std::uint64_t>(7)),
                                       std::pair(kHeapSites, std::vector<std::uint64_t>(5))})
    expect_refused(file_header() + block(kHeap, 1, 0, section(table, run_rows(150'000'000, 1, columns))),
                   kMemoryLimit);
}

TEST(Hostile, RunsOfRowsTakeMemoryInProportionToTheFile) {
  Bytes samples;
  for (const std::uint64_t number : {std::uint64_t{kMaxRows}, std::uint64_t{0}, std::uint64_t{0}})
    put_varint(samples, number);
  for (const std::uint64_t value : {0, 0, 0, 1, 1, 0, 0, 0}) put_run(samples, value, kMaxRows);
  std::string file = file_header();
  TemporaryFile one_thread;
  ASSERT_TRUE(Writer::create(one_thread.path())->append(one_thread_profile()));
  file = one_thread.content();
  for (std::uint32_t i = 100; file.size() < 66'000; ++i) file += block(kSamples, i, kMaxRows, samples);
  expect_refused(file, kMemoryLimit);
}

TEST(Hostile, RewrittenTablesTakeTimeInProportionToTheFile) {
  TemporaryFile one_thread;
  ASSERT_TRUE(Writer::create(one_thread.path())->append(one_thread_profile()));
  // A section stands for 65,536 rows that replace those of the previous section, so memory does not grow.
  const auto written_anew = [&](std::size_t sections) {
    Bytes payload = noise(kMaxPayload / 800);
    for (std::size_t i = 0; i < sections; ++i) {
      const Bytes rows = section(kHeapReturns, run_rows(0, kMaxRows, {0, 0, 0}));
      payload.insert(payload.end(), rows.begin(), rows.end());
    }
    return one_thread.content() + block(kHeap, 100, 0, payload);
  };
  const std::string few = written_anew(64);
  const std::size_t most = (kLeastSteps + kStepsPerByte * few.size()) / kMaxRows;
  EXPECT_TRUE(expect_bounded(few).read);
  expect_refused(written_anew(most + most / 2), kRowLimit);
}

TEST(Hostile, DroppedRowsTakeTimeInProportionToTheFile) {
  TemporaryFile one_thread;
  ASSERT_TRUE(Writer::create(one_thread.path())->append(one_thread_profile()));
  Bytes names = noise(kMaxPayload / 800), body;
  put_varint(body, kMaxRows);
  for (int column = 0; column < 3; ++column) put_run(body, 0, kMaxRows);
  while (names.size() < kMaxPayload - 1000) {
    const Bytes again = section(kLateNameSection, body);
    names.insert(names.end(), again.begin(), again.end());
  }
  expect_refused(one_thread.content() + block(kTables, 100, 0, names), kRowLimit);
}

// A profile with a heap that has lifetimes of blocks, and no site yet.
model::Profile profile_with_lives() {
  model::Profile profile = one_thread_profile();
  profile.heap.heaps.emplace_back().each_block = true;
  return profile;
}

// As many lifetimes as one block of the file may have, all of the first site.
Bytes many_lives() {
  Bytes lives;
  put_varint(lives, kMaxRows);
  for (unsigned number = 1; number <= 10; ++number) {
    Bytes column;
    put_run(column, 0, kMaxRows);
    put_section(lives, number, column);
  }
  return lives;
}

TEST(Hostile, SelectingBlocksOfManySitesTakesMemoryInProportionToTheFile) {
  TemporaryFile file;
  ASSERT_TRUE(Writer::create(file.path())->append(profile_with_lives()));
  std::string content = file.content();
  std::uint32_t sequence = 100;
  for (std::uint64_t first = 0; first < 2'000'000; first += kMaxRows)
    content += block(kHeap, sequence++, 0, section(kHeapSites, run_rows(first, kMaxRows, {0, 0, 0, 0, 0})));
  // The rows of the sites are few enough, but not the sums that each site needs while blocks are selected.
  EXPECT_TRUE(expect_bounded(content).read);
  expect_refused(content, kMemoryLimit, true);
}

TEST(Hostile, LivesOfBlocksTakeTimeInProportionToTheFile) {
  model::Profile profile = profile_with_lives();
  profile.heap.sites.push_back({{0}, {1}, {0}, {0}, 1});
  TemporaryFile file;
  ASSERT_TRUE(Writer::create(file.path())->append(profile));
  // They add up to the sums of one site, which need no memory.
  const auto with_lives = [&](std::size_t blocks) {
    std::string content = file.content();
    for (std::uint32_t i = 0; i < blocks; ++i) content += block(kLives, 100 + i, kMaxRows, many_lives());
    return content;
  };
  EXPECT_TRUE(expect_bounded(with_lives(4), true).read);
  const std::size_t each = with_lives(2).size() - with_lives(1).size();
  const std::size_t most =
      (kLeastSteps + kStepsPerByte * file.content().size()) / (kMaxRows - kStepsPerByte * each);
  expect_refused(with_lives(2 * most), kRowLimit, true);
}

TEST(Hostile, StacksAreNotDeeperThanARecorderWritesThem) {
  std::string content = file_header();
  std::uint32_t sequence = 0;
  for (std::uint64_t first = 1; first < 3'000'000; first += kMaxRows) {
    Bytes tables = first == 1 ? section(kFrameSection, run_rows(0, 1, {0, 0, 0, 0})) : Bytes{};
    const Bytes stacks = section(kStackSection, run_rows(first, kMaxRows, {0, 1}, 1));
    tables.insert(tables.end(), stacks.begin(), stacks.end());
    content += block(kTables, sequence++, 0, tables);
  }
  expect_bounded(content);
  const auto profile = read_text(content);
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->quality.notes.size(), 1u);
  EXPECT_THAT(profile->quality.notes[0], HasSubstr("a stack of too many frames"));
  std::vector<std::uint32_t> depths(profile->stacks.size());
  for (std::size_t i = 1; i < depths.size(); ++i) {
    depths[i] = depths[profile->stacks[i].parent.value] + 1;
    ASSERT_LE(depths[i], kMostFrames);
  }
}

TEST(Hostile, FramesShareALimitedNumberOfLines) {
  Bytes tables = section(2, run_rows(0, 1, {0, 0}));
  const auto add = [&](const Bytes& more) { tables.insert(tables.end(), more.begin(), more.end()); };
  add(section(kLineSection, run_rows(0, kMaxRows, {1, 0, 0}, 1)));
  add(section(kFrameSection, run_rows(0, kMaxRows, {0, 0, 4096, 0})));
  expect_refused(file_header() + block(kTables, 0, 0, tables), kRowLimit);
}

}  // namespace
}  // namespace fathom::store
