#include "cli/reading_notice.h"

#include <fmt/format.h>
#include <signal.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "analysis/core/words.h"
#include "cli/notices.h"

namespace fathom::cli {
namespace {

constexpr std::chrono::milliseconds kReadingStep{1000};
constexpr std::uintmax_t kQuicklyRead = 1 << 20;  // bytes

}  // namespace

ReadingNotice::ReadingNotice(const std::string& file, std::size_t more_files) : step_(kReadingStep) {
  std::error_code problem;
  const std::uintmax_t bytes = std::filesystem::file_size(file, problem);
  if (problem || (bytes < kQuicklyRead && more_files == 0) || !somebody_looks()) return;
  what_ = fmt::format("{} ({}{})", analysis::printable(file), analysis::bytes(static_cast<double>(bytes)),
                      more_files == 0 ? "" : fmt::format(", and {} more", more_files));
  write_ = notice_now;
  begin();
}

ReadingNotice::ReadingNotice(std::string what, std::chrono::milliseconds step, Write write)
    : what_(std::move(what)), step_(step), write_(std::move(write)) {
  begin();
}

ReadingNotice::~ReadingNotice() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// Signals go to the thread that reads, as without a notice.
void ReadingNotice::begin() {
  ::sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread(&ReadingNotice::run, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ReadingNotice::run() {
  const auto start = std::chrono::steady_clock::now();
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, step_, [this] { return ended_; })) {
    const auto took =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    write_(fmt::format("\r\x1b[Kfathom: reading {}, {} s", what_, took.count()));
    shown = true;
  }
  if (shown) write_("\r\x1b[K");
}

}  // namespace fathom::cli
