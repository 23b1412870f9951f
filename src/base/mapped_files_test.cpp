#include "base/mapped_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "base/abandonable.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/mapping.h"

namespace fathom {
namespace {

constexpr std::size_t kPage = 4096;

void on_bus_error(int, siginfo_t* info, void*) {
  if (!replace_lost_page(info->si_addr)) ::_exit(99);
}

class MappedFiles : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(path_, std::string(4 * kPage, 'x')));
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, &before_);
  }
  void TearDown() override {
    ::sigaction(SIGBUS, &before_, nullptr);
    ::unlink(path_.c_str());
  }

  const std::string path_ = testing::TempDir() + "fathom-mapped-files-test-" + std::to_string(::getpid());
  struct sigaction before_ {};
};

char at(const Mapping& mapping, std::size_t offset) {
  return static_cast<const volatile char*>(mapping.data())[offset];
}

TEST_F(MappedFiles, WhatWasCutOffIsReadAsZerosAndCounted) {
  const auto mapping = Mapping::of_file(path_).value();
  EXPECT_EQ(at(mapping, 3 * kPage), 'x');
  ASSERT_EQ(::truncate(path_.c_str(), kPage), 0);
  const std::uint64_t before = lost_pages();
  EXPECT_EQ(at(mapping, 2 * kPage), 0);
  EXPECT_EQ(at(mapping, 2 * kPage + 100), 0);
  EXPECT_EQ(at(mapping, 3 * kPage), 0);
  EXPECT_EQ(at(mapping, 0), 'x');
  EXPECT_EQ(lost_pages(), before + 2);
}

TEST_F(MappedFiles, AreReadToTheirEndInAThreadThatMayBeGivenUp) {
  const std::string path = path_;
  auto work = Abandonable<int>::start([path] {
    const auto mapping = Mapping::of_file(path);
    if (!mapping || ::truncate(path.c_str(), kPage) != 0) return -1;
    return static_cast<int>(at(*mapping, 2 * kPage));
  });
  ASSERT_TRUE(work);
  ASSERT_TRUE(work->wait_until(monotonic_ns() + 10'000'000'000));
  EXPECT_EQ(work->take(), 0);
}

TEST_F(MappedFiles, AnotherFaultIsNotTouched) {
  const auto mapping = Mapping::of_file(path_).value();
  const auto* end = static_cast<const char*>(mapping.data()) + mapping.size();
  EXPECT_FALSE(replace_lost_page(end));
  EXPECT_FALSE(replace_lost_page(static_cast<const char*>(mapping.data()) - 1));
  EXPECT_FALSE(replace_lost_page(nullptr));
}

TEST_F(MappedFiles, AMappingThatHasEndedIsForgotten) {
  const void* start = nullptr;
  {
    const auto mapping = Mapping::of_file(path_).value();
    start = mapping.data();
  }
  EXPECT_FALSE(replace_lost_page(start));
}

TEST_F(MappedFiles, ManyThreadsMapAndReadAtOnce) {
  ASSERT_EQ(::truncate(path_.c_str(), 2 * kPage), 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const std::string path = path_ + "-" + std::to_string(i);
      for (int k = 0; k < 50; ++k) {
        ASSERT_TRUE(write_file(path, std::string(2 * kPage, 'y')));
        const auto mapping = Mapping::of_file(path).value();
        ASSERT_EQ(::truncate(path.c_str(), 0), 0);
        EXPECT_EQ(at(mapping, kPage), 0);
      }
      ::unlink(path.c_str());
    });
  for (std::thread& thread : threads) thread.join();
}

using MappedFilesDeathTest = MappedFiles;
TEST_F(MappedFilesDeathTest, TheSignalKillsWithoutAHandler) {
  const auto mapping = Mapping::of_file(path_).value();
  ASSERT_EQ(::truncate(path_.c_str(), kPage), 0);
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, SIG_DFL);
        (void)at(mapping, 3 * kPage);
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace fathom
