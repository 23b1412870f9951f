// Prepares texts in a thread of its own, one after the other, while the caller takes those that are done.
#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>

#include "formats/folded/line_block.h"

namespace fathom::formats {

class PreparingThread {
 public:
  static constexpr std::size_t kMostUnderWay = 4;

  // No other thread uses `preparer` until the end. Throws std::system_error if there is no thread to be had.
  explicit PreparingThread(LinePreparer& preparer);
  ~PreparingThread();
  PreparingThread(const PreparingThread&) = delete;
  PreparingThread& operator=(const PreparingThread&) = delete;

  std::size_t under_way() const { return put_ - taken_; }
  // Whole lines, which stay valid until they were taken. Fewer than kMostUnderWay are under way.
  void put(std::string_view lines);
  // The first text that was not taken yet: waits for it. Valid until the next put() or take(). One is under way. Throws what
  // preparing it has thrown.
  const LineBlock& take();

 private:
  struct Slot {
    std::string_view text;
    LineBlock block;
    std::exception_ptr problem;
  };
  void work();

  LinePreparer& preparer_;
  // One more, because the caller still uses the block that was taken last.
  std::array<Slot, kMostUnderWay + 1> slots_;
  std::size_t put_ = 0, taken_ = 0;  // of the caller
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t asked_ = 0, done_ = 0;  // texts
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace fathom::formats
