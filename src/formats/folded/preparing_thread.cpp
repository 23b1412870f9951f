#include "formats/folded/preparing_thread.h"

namespace fathom::formats {

PreparingThread::PreparingThread(LinePreparer& preparer) : preparer_(preparer), thread_([this] { work(); }) {}

PreparingThread::~PreparingThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PreparingThread::put(std::string_view lines) {
  slots_[put_ % slots_.size()].text = lines;
  ++put_;
  {
    const std::lock_guard lock(mutex_);
    asked_ = put_;
  }
  changed_.notify_all();
}

const LineBlock& PreparingThread::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ > taken_; });
  const Slot& slot = slots_[taken_++ % slots_.size()];
  if (slot.problem) std::rethrow_exception(slot.problem);
  return slot.block;
}

void PreparingThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || done_ < asked_; });
    if (stop_) return;
    Slot& slot = slots_[done_ % slots_.size()];
    lock.unlock();
    slot.block.clear();
    try {
      preparer_.add_lines(slot.text, slot.block);
    } catch (...) {  // out of memory
      slot.problem = std::current_exception();
    }
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace fathom::formats
