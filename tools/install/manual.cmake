# Writes PAGE, the manual page of the program RUN, with what its --help prints.
execute_process(COMMAND ${EMULATOR} ${RUN} --help OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "${RUN} --help ended with ${status}")
endif()
string(REPLACE "\\" "\\e" text "${text}")
string(REPLACE "-" "\\-" text "${text}")
string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
string(TOUPPER ${NAME} title)
file(WRITE ${PAGE} ".TH ${title} 1 \"\" \"zb ${VERSION}\"\n.SH NAME\n${NAME} \\- ${PURPOSE}\n.SH DESCRIPTION\n.nf\n"
  "${text}.fi\n")
