# What `cmake --install build` installs: the programs, the headers, two shared libraries for embedders,
# the dialect as IRDL text, and what pkg-config and CMake need to find them. test/install compiles and
# runs a program against the result.
#
#   libzb           all of include/zb; needs LLVM. Shared, and as an archive
#   libzb-runtime   all but zb/compiler.h, zb/op.h and zb/mlir.h; needs no LLVM
#
# An embedder links one of the two, never both. They export the functions of include/zb and nothing else.

include(CMakePackageConfigHelpers)

# zb_shared(TARGET ROOMS... LINK LIBS...): a shared library of the objects of the rooms.
function(zb_shared name)
  cmake_parse_arguments(SHARED "" "" "ROOMS;LINK" ${ARGN})
  list(TRANSFORM SHARED_ROOMS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} SHARED ${SHARED_ROOMS})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib INSTALL_RPATH_USE_LINK_PATH ON)
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PRIVATE PkgConfig::JANSSON PkgConfig::PROTOBUFC Threads::Threads ${SHARED_LINK} m)
  target_link_options(${name} PRIVATE $<$<BOOL:${ZB_GOLD}>:-fuse-ld=gold>
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/tools/install/exports.map -Wl,-z,defs)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/tools/install/exports.map)
endfunction()

# zb_pkg_config(NAME DESCRIPTION [LIBS libraries] [REQUIRES modules] [CFLAGS flags] [FOLDER folder LIBDIR name]):
# NAME.pc, which finds its prefix from where it lies. LIBS: in place of -lNAME. FOLDER: written there and not installed.
function(zb_pkg_config name description)
  cmake_parse_arguments(PC "" "LIBS;REQUIRES;CFLAGS;FOLDER;LIBDIR" "" ${ARGN})
  if(NOT PC_LIBS)
    set(PC_LIBS "-L\${libdir} -l${name}")
  endif()
  if(NOT PC_FOLDER)
    set(PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
    set(PC_FOLDER ${CMAKE_BINARY_DIR})
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
  file(RELATIVE_PATH up /p/${PC_LIBDIR}/pkgconfig /p)
  file(WRITE ${PC_FOLDER}/${name}.pc "prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${PC_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: ${name}
Description: ${description}
Version: ${PROJECT_VERSION}
Requires: ${PC_REQUIRES}
Cflags: -I\${includedir} ${PC_CFLAGS}
Libs: ${PC_LIBS}
")
endfunction()

set(runtime_rooms zb_base zb_schedule zb_mesh zb_plan_proto zb_plan zb_events_proto zb_kernels_reference zb_kernels_cpu
  zb_exec)
zb_shared(zb-runtime ROOMS ${runtime_rooms})
install(TARGETS zb-runtime EXPORT zb LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
zb_pkg_config(zb-runtime "Schedules and runs plans of zbc; needs no LLVM")
install(TARGETS zb-run zb-sched RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zb DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h PATTERN *.def)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/runtime/plan/file/plan.proto DESTINATION ${CMAKE_INSTALL_DATADIR}/zb)

if(ZB_COMPILER)
  string(REGEX REPLACE "[.].*" "" MLIR_VERSION_MAJOR ${MLIR_VERSION})
  string(REGEX REPLACE "^[0-9]+[.]([0-9]+).*" "\\1" MLIR_VERSION_MINOR ${MLIR_VERSION})
  zb_shared(zb ROOMS ${runtime_rooms} ${import_protos} zb_ir zb_passes zb_mlir LINK ${ZB_MLIR})
  install(TARGETS zb EXPORT zb LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  zb_pkg_config(zb "Compiler and runtime for zero-bubble pipeline-parallel training")
  # The same as an archive, for programs that have MLIR inside themselves or want no libzb beside them.
  set(static_rooms ${runtime_rooms} ${import_protos} zb_ir zb_passes zb_mlir)
  list(TRANSFORM static_rooms REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(zb_static STATIC ${static_rooms})
  set_target_properties(zb_static PROPERTIES OUTPUT_NAME zb LINKER_LANGUAGE C
    ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  install(TARGETS zb_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # What a program with zb/mlir.h needs of MLIR: the archives of the C API that it calls, and libMLIR.
  list(JOIN ZB_MLIR " " ZB_MLIR_FILES)
  string(REGEX REPLACE " MLIR LLVM stdc.*" "" ZB_MLIR_FILES "${ZB_MLIR_FILES}")
  set(mlir_folder ${LLVM_LIBRARY_DIR})
  set(mlir_links "-L${mlir_folder}")
  foreach(archive ${ZB_MLIR_ARCHIVES})
    string(APPEND mlir_links " -l${archive}")
  endforeach()
  string(APPEND mlir_links " -lMLIR -lLLVM-${LLVM_VERSION_MAJOR} -Wl,-rpath,${mlir_folder} -lstdc++")
  zb_pkg_config(zb-mlir "Passes of zbc inside another compiler made with MLIR" REQUIRES zb
    CFLAGS "-isystem ${LLVM_INCLUDE_DIR}" LIBS "${mlir_links}")
  zb_pkg_config(zb-static "Compiler, runtime and passes of zbc as an archive" REQUIRES "jansson libprotobuf-c"
    CFLAGS "-isystem ${LLVM_INCLUDE_DIR}" LIBS "\${libdir}/libzb.a ${mlir_links} -lpthread -ldl -lm")
  # The plugin of stock mlir-opt; it finds libzb beside its folder.
  add_library(zb-mlir-plugin MODULE ${PROJECT_SOURCE_DIR}/tools/plugin/plugin.c)
  target_include_directories(zb-mlir-plugin SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(zb-mlir-plugin PRIVATE zb_options zb $<TARGET_FILE:MLIRCAPIIR> MLIR LLVM)
  target_link_options(zb-mlir-plugin PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(zb-mlir-plugin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/zb
    INSTALL_RPATH_USE_LINK_PATH ON INSTALL_RPATH "$ORIGIN/..")
  install(TARGETS zb-mlir-plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/zb)
  get_target_property(inside zbc ZB_INSIDE)
  if(NOT inside)
    set_target_properties(zbc zb-opt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
  install(TARGETS zbc zb-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(irdl ${CMAKE_BINARY_DIR}/share/zb.irdl.mlir)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${irdl} COMMAND zb-opt --irdl > ${irdl} DEPENDS zb-opt VERBATIM)
  add_custom_target(zb-irdl ALL DEPENDS ${irdl})
  install(FILES ${irdl} DESTINATION ${CMAKE_INSTALL_DATADIR}/zb)
endif()

# find_package(zb): see zbConfig.cmake.in.
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/zb)
install(EXPORT zb NAMESPACE zb:: FILE zbTargets.cmake DESTINATION ${config})
file(RELATIVE_PATH ZB_ARCHIVE_FROM_CONFIG /p/${config} /p/${CMAKE_INSTALL_LIBDIR}/libzb.a)
configure_file(${PROJECT_SOURCE_DIR}/tools/install/zbConfig.cmake.in ${CMAKE_BINARY_DIR}/zbConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/zbConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/zbConfig.cmake ${CMAKE_BINARY_DIR}/zbConfigVersion.cmake DESTINATION ${config})
include(${CMAKE_CURRENT_LIST_DIR}/package.cmake)
