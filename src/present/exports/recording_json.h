// A recording as it is, in JSON: every table of the model (model/fields.h) as columns, whole and not selected from.
// docs/recording-json.md describes it; a change that breaks a reader raises kRecordingJsonVersion. The report for scripts (present/json) is something else: figures.
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

}  // namespace fathom::present
