# idle_rules.txt -> OUTPUT, a source file that holds it as text: no file is looked for at run time.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"report/idle.h\"

namespace fathom::report {

const std::string_view kIdleRulesText = R\"RULES(${text})RULES\";

}  // namespace fathom::report
")
