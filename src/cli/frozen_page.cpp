#include "cli/frozen_page.h"

#include <filesystem>
#include <utility>

#include "analysis/core/words.h"
#include "cli/notices.h"
#include "present/page/html.h"

namespace fathom::cli {

void tell_what_was_folded(double share) {
  if (share > 0)
    say("fathom: calls of less than {} of every metric are folded, to keep the page small\n",
        analysis::percent(share));
}

namespace {

page::DocumentOptions of_file(page::DocumentOptions options, const std::string& file) {
  options.file = std::filesystem::path(file).filename().string();
  if (options.file.empty()) options.file = file;
  return options;
}

Result<std::string> page_of(const Result<page::Document>& document, const std::string& file,
                            std::string_view code) {
  if (!document) return within(file, document.error());
  tell_what_was_folded(document->folded_share);
  page::HtmlOptions html;
  html.code = code;
  return page::html_page(document->bytes, html);
}

}  // namespace

Result<std::string> frozen_page(const model::Profile& profile, const std::string& file, std::string_view code,
                                page::DocumentOptions options) {
  return page_of(page::make_document(profile, of_file(std::move(options), file)), file, code);
}

Result<std::string> frozen_page(model::Profile&& profile, const page::ReadAgain& again,
                                const std::string& file, std::string_view code,
                                page::DocumentOptions options) {
  return page_of(page::make_document(std::move(profile), again, of_file(std::move(options), file)), file,
                 code);
}

}  // namespace fathom::cli
