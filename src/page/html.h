// The page as one HTML file: script and style, which are part of the program, and a document as text. Nothing else is in it
// that came from a recording, so no name can end a tag; it fetches nothing, which its content security policy also says.
#pragma once

#include <string>
#include <string_view>

namespace fathom::page {

// web/dist, built by `make web`.
extern const std::string_view kScript, kScriptSha256, kStyle, kStyleSha256;  // the sums in hexadecimal digits

// Allows that script and that style by their sums, and no other and nothing from elsewhere.
std::string content_security_policy();

// `document`: as make_document() gives it.
std::string html_page(std::string_view document);

}  // namespace fathom::page
