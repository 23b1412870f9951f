#include "tools/push/store_sender.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/files.h"
#include "base/parse.h"
#include "base/text.h"
#include "formats/open/interrupt_wakers.h"
#include "model/store/reader.h"

namespace fathom::push {
namespace {

constexpr std::chrono::seconds kPause{2}, kMostPause{60};
// Names of windows are in milliseconds, and one begins where the other ends.
constexpr std::uint64_t kEdgeNs = 100'000'000;
constexpr std::size_t kMostProgress = 1 << 20;

// "http://db:8123/" as the name of a file.
std::string file_word(std::string_view text) {
  std::string word;
  for (const char c : text)
    word += is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ? c : '_';
  return word.substr(0, 100);
}

}  // namespace

StoreSender::StoreSender(std::string store, std::string name, std::unique_ptr<Destination> destination,
                         Fd stop)
    : store_(std::move(store)),
      name_(std::move(name)),
      progress_path_(fmt::format("{}/.sent-{}", store_, file_word(name_))),
      destination_(std::move(destination)),
      stop_(std::move(stop)) {
  load_progress();
  thread_ = std::thread([this] { run(); });
}

StoreSender::~StoreSender() {
  finish(0);
}

void StoreSender::finish(unsigned seconds) {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(seconds), [this] { return ended_; });
  }
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

StoreSenderState StoreSender::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::vector<std::string> StoreSender::take_sentences() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sentences_, {});
}

void StoreSender::tell(std::string sentence) {
  const std::lock_guard lock(mutex_);
  sentences_.push_back(std::move(sentence));
}

void StoreSender::run() {
  (void)::pthread_setname_np(::pthread_self(), "fathom-push");
  std::chrono::seconds pause = kPause;
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, pause, [this] { return ends_; });
      last = ends_;
    }
    pause = pass() ? kPause : std::min(pause * 2, kMostPause);
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

// True: everything that was there has been sent.
bool StoreSender::pass() {
  bool all = true;
  for (const std::string& target : serve::targets_in(store_)) {
    const auto sent = send_target(target);
    if (sent) continue;
    all = false;
    if (!std::exchange(away_, true))
      tell(fmt::format("cannot send windows to {}: {}; they wait in the store", name_, sent.error().message));
    break;
  }
  if (all && std::exchange(away_, false)) tell(fmt::format("{} takes windows again", name_));
  std::uint64_t waiting = 0;
  for (const auto& [target, windows] : waiting_) waiting += windows.size();
  const std::lock_guard lock(mutex_);
  state_.waiting = waiting;
  return all;
}

Result<> StoreSender::send_target(const std::string& target) {
  std::uint64_t& until = sent_until_[target];
  const std::vector<serve::StoredWindow> windows = serve::windows_in(store_ + "/" + target);
  count_lost(target, windows, until);
  std::vector<serve::WindowName>& waiting = waiting_[target];
  waiting.clear();
  for (const serve::StoredWindow& window : windows)
    if (window.name.end_unix_ns() > until + kEdgeNs) waiting.push_back(window.name);
  for (const serve::StoredWindow& window : windows) {
    if (window.name.end_unix_ns() <= until + kEdgeNs) continue;
    const auto profile = read_rest(window, until);
    std::error_code problem;
    if (!profile && !std::filesystem::exists(window.path, problem))
      continue;  // aged in this moment: the next pass sees what became of it
    Result<Sent> sent = profile ? destination_->send(*profile, labels_of(*profile, {target, "", "", true}))
                                : Result<Sent>(tl::unexpected<Error>(profile.error()));
    if (!sent && profile && sent.error().kind == ErrorKind::kSystem)
      return tl::unexpected<Error>(sent.error());
    // It would fail again and again: without this one the others still arrive.
    if (!sent) tell(fmt::format("{}: lost for {}: {}", window.path, name_, sent.error().message));
    until = window.name.end_unix_ns();
    save_progress();
    std::erase(waiting, window.name);
    const std::lock_guard lock(mutex_);
    ++(sent ? state_.sent : state_.lost);
  }
  return {};
}

// A window that was merged with earlier ones while it waited is sent without what the server has.
Result<model::Profile> StoreSender::read_rest(const serve::StoredWindow& window,
                                              std::uint64_t sent_until) const {
  auto profile = window.name.start_unix_ns + kEdgeNs >= sent_until
                     ? store::read(window.path, {})
                     : serve::read_windows({window}, {sent_until, std::nullopt});
  if (profile) open::drop_interrupt_wakers(*profile);  // who ended a wait is sent as well
  return profile;
}

void StoreSender::count_lost(const std::string& target, const std::vector<serve::StoredWindow>& now,
                             std::uint64_t sent_until) {
  std::uint64_t lost = 0;
  for (const serve::WindowName& was : waiting_[target]) {
    const bool there = std::ranges::any_of(now, [&](const serve::StoredWindow& window) {
      return window.name.start_unix_ns <= was.start_unix_ns && window.name.end_unix_ns() >= was.end_unix_ns();
    });
    if (!there && was.end_unix_ns() > sent_until + kEdgeNs) ++lost;
  }
  if (lost == 0) return;
  tell(fmt::format("{} windows of {} were removed from the store before they could be sent to {}", lost,
                   target, name_));
  const std::lock_guard lock(mutex_);
  state_.lost += lost;
}

// "TARGET NANOSECONDS" a line. Without the file, windows are sent again, which changes nothing on the server.
void StoreSender::load_progress() {
  const auto text = read_file(progress_path_, kMostProgress);
  if (!text) return;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::size_t blank = line.find(' ');
    if (blank == line.npos) continue;
    if (const auto until = parse_number(line.substr(blank + 1)))
      sent_until_[std::string(line.substr(0, blank))] = *until;
  }
}

void StoreSender::save_progress() const {
  std::string text;
  for (const auto& [target, until] : sent_until_) text += fmt::format("{} {}\n", target, until);
  (void)write_file(progress_path_, text);
}

}  // namespace fathom::push
