// A recording as it is, in JSON: every table of the model as columns, whole and not selected from. docs/recording-json.md describes
// it; a change that breaks a reader raises kRecordingJsonVersion. The report for scripts (present/json) is something else: figures.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/profile.h"

namespace fathom::present {

inline constexpr int kRecordingJsonVersion = 1;

// Gives the text away piece by piece. `version`: of fathom.
void write_recording_json(const model::Profile& profile, std::string_view version,
                          const std::function<void(std::string_view)>& take);

// The word that stands for a value of one of the model's enumerations.
std::string_view word_of(model::ModuleKind kind);
std::string_view word_of(model::SymbolSource source);
std::string_view word_of(model::Metric metric);
std::string_view word_of(model::ObjectKind kind);
std::string_view word_of(model::WaitState state);
std::string_view word_of(model::HeapMode mode);
std::string_view word_of(model::HookKind kind);
std::string_view word_of(model::HeapHistogramKind kind);
std::string_view word_of(model::MemoryKind kind);

}  // namespace fathom::present
