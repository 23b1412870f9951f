#include "analysis/feedback/code_samples.h"

#include <gtest/gtest.h>

#include <random>

namespace fathom::feedback {
namespace {

// One program under two paths, as two hosts have it, a library, the kernel, and code that was made at run time.
class CodeSamplesTest : public testing::Test {
 protected:
  CodeSamplesTest() : builder_(profile_) {
    here_ = module(model::ModuleKind::kFile, "/usr/bin/server", "aa01");
    there_ = module(model::ModuleKind::kFile, "/opt/server/bin/server", "aa01");
    library_ = module(model::ModuleKind::kFile, "/usr/lib/libc.so.6", "bb02");
    kernel_ = module(model::ModuleKind::kKernel, "", "cc03");
    made_ = module(model::ModuleKind::kAnonymous, "", "");
    profile_.processes.push_back({});
    profile_.threads.push_back({});
    profile_.meta.end_ns = 1'000'000'000;
  }
  model::ModuleId module(model::ModuleKind kind, std::string_view path, std::string_view build_id) {
    model::Module row;
    row.kind = kind;
    row.name = builder_.string(path);
    row.path = row.name;
    row.build_id = builder_.string(build_id);
    return builder_.module(row);
  }
  // Root first.
  void sample(const std::vector<std::pair<model::ModuleId, std::uint64_t>>& stack, std::int64_t value = 1) {
    model::Sample row;
    row.value = value;
    for (const auto& [of, address] : stack)
      row.stack = builder_.stack(row.stack, builder_.frame(of, ElfAddress{address}));
    profile_.samples.push_back(row);
  }
  model::Profile profile_;
  model::Builder builder_;
  model::ModuleId here_, there_, library_, kernel_, made_;
};

TEST_F(CodeSamplesTest, AFileIsTheSameUnderEveryPath) {
  sample({{here_, 0x100}}, 5);
  sample({{there_, 0x100}}, 7);
  sample({{there_, 0x50}}, 1);
  const auto samples = code_samples(profile_, {}, "");
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->build_id, "aa01");
  EXPECT_EQ(samples->at, (std::vector<AddressCount>{{{0x50}, 1}, {{0x100}, 12}}));
  EXPECT_EQ(samples->modules, (std::vector<model::ModuleId>{here_, there_}));
}

TEST_F(CodeSamplesTest, OnlyThePlaceOfTheSampleCounts) {
  sample({{here_, 0x100}, {here_, 0x200}}, 2);
  sample({{here_, 0x100}, {library_, 0x900}}, 3);
  sample({{here_, 0x200}, {kernel_, 0xffff0000}}, 4);
  sample({{here_, 0x200}, {made_, 0x7000}}, 1);
  sample({}, 6);
  const auto samples = code_samples(profile_, {}, "aa01");
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->at, (std::vector<AddressCount>{{{0x200}, 2}}));
  EXPECT_EQ(samples->in_other_files, 3);
  EXPECT_EQ(samples->in_kernel, 4);
  EXPECT_EQ(samples->elsewhere, 7);
  EXPECT_EQ(samples->all, 16);
}

TEST_F(CodeSamplesTest, TheFileWithTheMostSamplesIsTheDefault) {
  sample({{here_, 0x100}}, 5);
  sample({{there_, 0x100}}, 5);
  sample({{library_, 0x10}}, 9);
  EXPECT_EQ(code_samples(profile_, {}, "")->build_id, "aa01") << "10 of 19, under two paths";
  EXPECT_EQ(code_samples(profile_, {}, "bb02")->inside, 9);
}

TEST_F(CodeSamplesTest, WhatCannotBeAnsweredIsRefused) {
  sample({{kernel_, 0x10}});
  EXPECT_EQ(code_samples(profile_, {}, "").error().kind, ErrorKind::kNotFound);
  sample({{here_, 0x10}});
  EXPECT_EQ(code_samples(profile_, {}, "dd04").error().kind, ErrorKind::kNotFound);
  analysis::Selection waits;
  waits.metric = model::Metric::kOffCpu;
  EXPECT_EQ(code_samples(profile_, waits, "").error().kind, ErrorKind::kUsage);
}

// Nothing vanishes, whichever file is asked for.
TEST_F(CodeSamplesTest, EverySampleIsCountedOnce) {
  std::mt19937 random(34);
  const model::ModuleId modules[] = {here_, there_, library_, kernel_, made_, {0}};
  std::int64_t all = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::pair<model::ModuleId, std::uint64_t>> stack(random() % 5);
    for (auto& [of, address] : stack) {
      of = modules[random() % std::size(modules)];
      address = 0x1000 + random() % 64;
    }
    const std::int64_t value = 1 + random() % 9;
    all += value;
    sample(stack, value);
  }
  for (const char* build_id : {"aa01", "bb02", ""}) {
    const auto samples = code_samples(profile_, {}, build_id);
    ASSERT_TRUE(samples) << samples.error().message;
    EXPECT_EQ(samples->all, all);
    EXPECT_EQ(samples->inside + samples->in_kernel + samples->in_other_files + samples->elsewhere, all);
    std::int64_t inside = 0;
    for (const AddressCount& row : samples->at) inside += row.samples;
    EXPECT_EQ(inside, samples->inside);
    EXPECT_GT(inside, 0);
  }
}

}  // namespace
}  // namespace fathom::feedback
