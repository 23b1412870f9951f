// The page as one HTML file: script and style, which are part of the program, and a document as text. Nothing else is in it
// that came from a recording, so no name can end a tag. The file fetches nothing, and its content security policy forbids it; the
// page that is served may ask its own server, for source and machine code.
#pragma once

#include <string>
#include <string_view>

namespace fathom::page {

// web/dist, built by `make web`; the sums in hexadecimal digits.
std::string_view page_script();
std::string_view page_style();
extern const std::string_view kScriptSha256, kStyleSha256;

struct HtmlOptions {
  bool served = false;  // by a PageServer that answers questions for code
  std::string_view code =
      {};  // of a file: source and machine code that goes with it, compressed; empty: none
};

// Allows that script and that style by their sums, and no other and nothing from elsewhere; `served`: questions to the server
// that it came from.
std::string content_security_policy(bool served);

// One sentence, with a link to the whole recording, instead of a page that could not be made.
std::string message_page(std::string_view message);

// `document`: as make_document() gives it.
std::string html_page(std::string_view document, const HtmlOptions& options = {});

}  // namespace fathom::page
