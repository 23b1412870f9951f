# INPUT, a script -> OUTPUT, a source file that holds it as the text NAME, declared in HEADER. Comment lines and
# indentation stay behind.
file(READ ${INPUT} text)
string(REGEX REPLACE "(^|\n)[ \t]*//[^\n]*" "" text "${text}")
string(REGEX REPLACE "\n[ \t\n]*" "\n" text "${text}")
string(STRIP "${text}" text)
string(SHA256 hash "${text}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace fathom::present {

const std::string_view ${NAME} = R\"SCRIPT(${text})SCRIPT\";
const std::string_view ${NAME}Sha256 = \"${hash}\";

}  // namespace fathom::present
")
