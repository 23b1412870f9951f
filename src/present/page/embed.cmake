# SCRIPT and STYLE, the built page -> OUTPUT, a source file that holds their sums, by which the page's content security policy
# names them.
file(SHA256 ${SCRIPT} script_sum)
file(SHA256 ${STYLE} style_sum)
file(WRITE ${OUTPUT} "#include \"present/page/html.h\"

namespace fathom::page {

const std::string_view kScriptSha256 = \"${script_sum}\";
const std::string_view kStyleSha256 = \"${style_sum}\";

}  // namespace fathom::page
")
