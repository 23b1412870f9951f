// A recording as the page of `fathom view` in one file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"
#include "present/page/document.h"

namespace fathom::cli {

// `file` is the recording's path; the page has its name alone, as a file that goes into a ticket names no folder of the machine
// that it was made on. Says on standard error what was folded to keep it small. `code`: source and machine code that goes with it,
// as page::HtmlOptions has it. Of `options` the file is set here.
Result<std::string> frozen_page(const model::Profile& profile, const std::string& file,
                                std::string_view code = {}, page::DocumentOptions options = {});
// The same of a profile that is needed no more (page::make_document).
Result<std::string> frozen_page(model::Profile&& profile, const page::ReadAgain& again,
                                const std::string& file, std::string_view code = {},
                                page::DocumentOptions options = {});
// What frozen_page() left out: calls of less than `share` were folded; 0: none.
void tell_what_was_folded(double share);

}  // namespace fathom::cli
