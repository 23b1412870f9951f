#include "tools/push/store_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <filesystem>
#include <thread>

#include "model/random_profile.h"

namespace fathom::push {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kMinuteNs = 60'000'000'000, kBeginNs = 1'764'000'000'000'000'000;

// Notes the windows that arrive, by their start in minutes.
struct Arrived {
  std::mutex mutex;
  std::vector<std::string> windows;
  std::optional<Error> refuse;
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex);
    return windows;
  }
  void set(std::optional<Error> error) {
    const std::lock_guard lock(mutex);
    refuse = std::move(error);
  }
};

class NotingDestination final : public Destination {
 public:
  explicit NotingDestination(Arrived& arrived) : arrived_(arrived) {}
  Result<Sent> send(const model::Profile& profile, const Labels& labels) override {
    const std::lock_guard lock(arrived_.mutex);
    if (arrived_.refuse) return tl::unexpected<Error>(*arrived_.refuse);
    arrived_.windows.push_back(labels.service + " " +
                               std::to_string((profile.meta.start_unix_ns - kBeginNs) / kMinuteNs));
    return Sent{1, 0, 1, 1};
  }

 private:
  Arrived& arrived_;
};

class SendingAStore : public testing::Test {
 protected:
  SendingAStore() {
    std::string name = testing::TempDir() + "sender-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) store_ = name;
  }
  ~SendingAStore() override { std::filesystem::remove_all(store_); }
  std::string write(const std::string& target, std::uint64_t minute) {
    model::Profile window = model::random_profile(1);
    window.meta.start_ns = kMinuteNs;
    window.meta.end_ns = 2 * kMinuteNs;
    window.meta.start_unix_ns = kBeginNs + minute * kMinuteNs;
    std::filesystem::create_directories(store_ + "/" + target);
    return serve::write_window(store_ + "/" + target, window).value();
  }
  std::unique_ptr<StoreSender> sender() {
    return std::make_unique<StoreSender>(store_, "clickhouse://h/d",
                                         std::make_unique<NotingDestination>(arrived_),
                                         Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  }
  template <class Condition>
  static bool comes(const Condition& condition) {
    for (int i = 0; i < 600 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return condition();
  }
  std::string store_;
  Arrived arrived_;
};

TEST_F(SendingAStore, EachWindowGoesOnceAlsoAfterANewStart) {
  write("app", 0);
  write("db", 0);
  auto first = sender();
  first->finish(30);
  EXPECT_EQ(first->state().sent, 2U);
  write("app", 1);
  auto second = sender();
  second->finish(30);
  EXPECT_EQ(second->state().sent, 1U);
  EXPECT_THAT(arrived_.take(), ElementsAre("app 0", "db 0", "app 1"));
}

TEST_F(SendingAStore, WindowsWaitWhileTheServerIsAway) {
  arrived_.set(Error{ErrorKind::kSystem, "connection refused", ""});
  write("app", 0);
  auto sending = sender();
  ASSERT_TRUE(comes([&] { return sending->state().waiting == 1; }));
  EXPECT_EQ(sending->state().lost, 0U);
  EXPECT_THAT(sending->take_sentences(),
              ElementsAre(HasSubstr("connection refused; they wait in the store")));
  arrived_.set(std::nullopt);
  sending->finish(30);
  EXPECT_THAT(arrived_.take(), ElementsAre("app 0"));
  EXPECT_EQ(sending->state().waiting, 0U);
  EXPECT_THAT(sending->take_sentences(), ElementsAre(HasSubstr("takes windows again")));
}

TEST_F(SendingAStore, WhatIsRemovedBeforeItWasSentIsCounted) {
  arrived_.set(Error{ErrorKind::kSystem, "connection refused", ""});
  const std::string oldest = write("app", 0);
  write("app", 1);
  auto sending = sender();
  ASSERT_TRUE(comes([&] { return sending->state().waiting == 2; }));
  std::filesystem::remove(oldest);
  arrived_.set(std::nullopt);
  sending->finish(30);
  EXPECT_EQ(sending->state().lost, 1U);
  EXPECT_EQ(sending->state().sent, 1U);
}

TEST_F(SendingAStore, AWindowThatIsRefusedDoesNotHoldUpTheOthers) {
  arrived_.set(Error{ErrorKind::kUnsupported, "unknown column", ""});
  write("app", 0);
  write("app", 1);
  auto sending = sender();
  sending->finish(30);
  EXPECT_EQ(sending->state().lost, 2U);
  EXPECT_EQ(sending->state().waiting, 0U);
}

}  // namespace
}  // namespace fathom::push
