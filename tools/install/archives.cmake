# What programs have inside. With archives of jansson, protobuf-c, libstdc++ and MLIR they need the C library alone,
# run on machines that have none of these, and zbc starts in 5 ms: the loader takes 70 for libMLIR.so and libLLVM.so,
# and their tables of options as long again. Sanitizers want the libraries that they know.

if(ZB_PORTABLE)
  set(ZB_STATIC ON)
endif()
find_library(ZB_JANSSON_ARCHIVE libjansson.a HINTS ${JANSSON_LIBDIR})
find_library(ZB_PROTOBUFC_ARCHIVE libprotobuf-c.a HINTS ${PROTOBUFC_LIBDIR})
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE ZB_CXX_ARCHIVE
  OUTPUT_STRIP_TRAILING_WHITESPACE)
set(missing)
if(NOT ZB_JANSSON_ARCHIVE)
  list(APPEND missing libjansson.a)
endif()
if(NOT ZB_PROTOBUFC_ARCHIVE)
  list(APPEND missing libprotobuf-c.a)
endif()
if(ZB_COMPILER AND NOT IS_ABSOLUTE "${ZB_CXX_ARCHIVE}")
  list(APPEND missing libstdc++.a)
endif()
if(ZB_STATIC STREQUAL ON AND ZB_SANITIZE)
  message(FATAL_ERROR "ZB_STATIC and ZB_PORTABLE do not go with ZB_SANITIZE: sanitizers want shared libraries")
endif()
if(ZB_STATIC STREQUAL ON AND missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "Programs cannot have all libraries inside: there is no ${missing}. Install libjansson-dev, "
    "libprotobuf-c-dev and g++, or configure with -DZB_STATIC=OFF")
endif()
# zb_inside(TARGET OPTIONS...): the target has its libraries inside, where there are archives. A shared library has
# jansson beside it, since libjansson.a is made for programs alone.
function(zb_inside target)
  if(NOT ZB_STATIC STREQUAL OFF AND NOT missing AND NOT ZB_SANITIZE)
    set_target_properties(${target} PROPERTIES ZB_INSIDE ON)
    target_link_options(${target} PRIVATE -static-libgcc -Wl,--gc-sections ${ARGN})
  endif()
endfunction()
set(inside $<BOOL:$<TARGET_PROPERTY:ZB_INSIDE>>)
set(in_program $<AND:${inside},$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>)
set_property(TARGET PkgConfig::JANSSON PROPERTY
  INTERFACE_LINK_LIBRARIES $<IF:${in_program},${ZB_JANSSON_ARCHIVE},${JANSSON_LINK_LIBRARIES}>)
set_property(TARGET PkgConfig::PROTOBUFC PROPERTY
  INTERFACE_LINK_LIBRARIES $<IF:${inside},${ZB_PROTOBUFC_ARCHIVE},${PROTOBUFC_LINK_LIBRARIES}>)
# tools/memory.c looks for them by name.
set(ZB_MLIR_HANDLERS -Wl,--export-dynamic-symbol=_ZSt15set_new_handlerPFvvE
  -Wl,--export-dynamic-symbol=_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_)

# zb_archives_of(OUT TARGETS...): the archives of the targets and of all that these name, in one group, with libstdc++.
# What they name that is no archive (libLLVM.so; z3 and compression, which no pass of ours reaches) is left out.
function(zb_archives_of out)
  set(open ${ARGN})
  set(found)
  while(open)
    list(POP_FRONT open target)
    if(NOT TARGET "${target}" OR target IN_LIST found)
      continue()
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND found ${target})
      get_target_property(named ${target} INTERFACE_LINK_LIBRARIES)
      if(named)
        list(APPEND open ${named})
      endif()
    endif()
  endwhile()
  list(TRANSFORM found REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  set(${out} "-Wl$<COMMA>--start-group" ${found} "-Wl$<COMMA>--end-group" ${ZB_CXX_ARCHIVE} PARENT_SCOPE)
endfunction()
