#include "cli/frozen_page.h"

#include <filesystem>

#include "analysis/core/words.h"
#include "cli/notices.h"
#include "page/document.h"
#include "page/html.h"

namespace fathom::cli {

void tell_what_was_folded(double share) {
  if (share > 0)
    say("fathom: calls of less than {} of every metric are folded, to keep the page small\n",
        analysis::percent(share));
}

Result<std::string> frozen_page(const model::Profile& profile, const std::string& file,
                                std::string_view code) {
  page::DocumentOptions options;
  options.file = std::filesystem::path(file).filename().string();
  if (options.file.empty()) options.file = file;
  const Result<page::Document> document = page::make_document(profile, options);
  if (!document) return within(file, document.error());
  tell_what_was_folded(document->folded_share);
  page::HtmlOptions html;
  html.code = code;
  return page::html_page(document->bytes, html);
}

}  // namespace fathom::cli
