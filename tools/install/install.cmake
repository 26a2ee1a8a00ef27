# What `cmake --install build` installs: the programs, the headers, two shared libraries for embedders,
# the dialect as IRDL text, and what pkg-config and CMake need to find them. test/install compiles and
# runs a program against the result.
#
#   libzb           all of include/zb; needs LLVM
#   libzb-runtime   all but zb/compiler.h; needs no LLVM
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
  install(TARGETS ${name} EXPORT zb LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# zb_pkg_config(NAME DESCRIPTION): NAME.pc, which finds its prefix from where it lies.
function(zb_pkg_config name description)
  file(RELATIVE_PATH up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.pc "prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: ${name}
Description: ${description}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} -l${name}
")
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(runtime_rooms zb_base zb_schedule zb_mesh zb_plan_proto zb_plan zb_events_proto zb_kernels_reference zb_kernels_cpu
  zb_exec)
zb_shared(zb-runtime ROOMS ${runtime_rooms})
zb_pkg_config(zb-runtime "Schedules and runs plans of zbc; needs no LLVM")
install(TARGETS zb-run zb-sched RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zb DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h PATTERN *.def)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(ZB_COMPILER)
  zb_shared(zb ROOMS ${runtime_rooms} ${import_protos} zb_ir zb_passes LINK ${ZB_MLIR})
  zb_pkg_config(zb "Compiler and runtime for zero-bubble pipeline-parallel training")
  set_target_properties(zbc zb-opt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS zbc zb-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(irdl ${CMAKE_BINARY_DIR}/share/zb.irdl.mlir)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${irdl} COMMAND zb-opt --irdl > ${irdl} DEPENDS zb-opt VERBATIM)
  add_custom_target(zb-irdl ALL DEPENDS ${irdl})
  install(FILES ${irdl} DESTINATION ${CMAKE_INSTALL_DATADIR}/zb)
endif()

# find_package(zb) gives the targets zb::zb and zb::zb-runtime.
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/zb)
install(EXPORT zb NAMESPACE zb:: FILE zbConfig.cmake DESTINATION ${config})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/zbConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/zbConfigVersion.cmake DESTINATION ${config})
