// Private copies of one program, a new one for each question, because a wrong guess leaves a damaged heap.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/inject/trial/private_copy.h"
#include "base/address.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// Use it only within in_tracing_thread().
class Copies {
 public:
  // Arguments as for PrivateCopy::start(); starts nothing before the first question.
  Copies(int fd, const elf::ElfFile& file, std::vector<ElfAddress> stops, int like)
      : fd_(fd), file_(file), stops_(std::move(stops)), like_(like) {}

  // The answer of `question` for a copy. nullopt: there was no copy, or it did not get enough time to answer;
  // problem() says why.
  template <class Question>
  auto ask(const Question& question) -> std::optional<decltype(question(std::declval<PrivateCopy&>()))> {
    if (!first_) {
      auto started = PrivateCopy::start(fd_, file_, stops_, like_);
      if (!started) {
        problem_ = started.error().message;
        return std::nullopt;
      }
      first_.emplace(std::move(*started));
    }
    auto copy = first_->fork();
    if (!copy) {
      problem_ = copy.error().message;
      return std::nullopt;
    }
    ++count_;
    auto answer = question(*copy);
    // A call that did not get enough time to return gives no answer.
    if (first_->was_late()) {
      problem_ = "this machine is too busy to try its functions";
      return std::nullopt;
    }
    return answer;
  }
  const std::string& problem() const { return problem_; }
  std::size_t count() const { return count_; }  // processes started

 private:
  int fd_;
  const elf::ElfFile& file_;
  std::vector<ElfAddress> stops_;
  int like_;
  std::optional<PrivateCopy> first_;
  std::string problem_;
  std::size_t count_ = 0;
};

}  // namespace fathom::inject
