// While a large file is read: a line on the terminal that says so, with the time it has taken. It appears after a second and goes
// when the object does. A reader of 17 formats has no common measure of how far it is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace fathom::cli {

class ReadingNotice {
 public:
  using Write = std::function<void(std::string_view)>;

  // Of these files, on standard error if a person is looking at it.
  explicit ReadingNotice(const std::string& file, std::size_t more_files);
  // `write` is called by a thread of the notice, after each `step`.
  ReadingNotice(std::string what, std::chrono::milliseconds step, Write write);
  ~ReadingNotice();
  ReadingNotice(const ReadingNotice&) = delete;
  ReadingNotice& operator=(const ReadingNotice&) = delete;

 private:
  void begin();
  void run();

  std::string what_;
  std::chrono::milliseconds step_;
  Write write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace fathom::cli
