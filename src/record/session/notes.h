// Notes of a recording's quality block, each once.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "model/profile.h"

namespace fathom::session {

inline void note_once(model::Quality& quality, std::string note) {
  if (std::ranges::find(quality.notes, note) == quality.notes.end()) quality.notes.push_back(std::move(note));
}

// A note that changes: it takes the place of what it said before. "": there is none.
class ChangingNote {
 public:
  void set(model::Quality& quality, std::string note) {
    if (note == text_) return;
    std::erase(quality.notes, text_);
    if (!note.empty()) quality.notes.push_back(note);
    text_ = std::move(note);
  }

 private:
  std::string text_;
};

}  // namespace fathom::session
