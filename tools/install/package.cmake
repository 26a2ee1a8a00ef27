# What cpack packs: programs, modules, headers and a libzb that need the C library alone. The README of this folder
# says how; test/install/portable.py runs it in a root that has no more. All of it is the install component
# `portable`, laid out the same in the archive, in the Debian package and beside the Python package.

if(NOT ZB_COMPILER OR ZB_STATIC STREQUAL OFF OR missing)
  return()
endif()

# libzb with MLIR inside. It has not the functions of zb/mlir.h and zb/op.h: what they are given belongs to the
# caller's MLIR, which would be another one.
zb_shared(zb-portable ROOMS ${runtime_rooms} ${import_protos} zb_ir zb_passes LINK ${ZB_MLIR_INSIDE})
zb_inside(zb-portable)
set_target_properties(zb-portable PROPERTIES OUTPUT_NAME zb LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/portable
  INSTALL_RPATH "$ORIGIN/zb" INSTALL_RPATH_USE_LINK_PATH OFF)
if(NOT ZB_PORTABLE)
  set_target_properties(zb-portable PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

set(portable COMPONENT portable EXCLUDE_FROM_ALL)
install(TARGETS zbc zb-opt zb-run zb-sched RUNTIME DESTINATION bin ${portable})
set_target_properties(zb-portable PROPERTIES EXPORT_NAME zb)
install(TARGETS zb-portable EXPORT zb-portable LIBRARY DESTINATION lib ${portable})
foreach(module zb-mpi zb-cuda)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION lib/zb ${portable} OPTIONAL)
  endif()
endforeach()
file(REAL_PATH ${JANSSON_LINK_LIBRARIES} jansson)
install(FILES ${jansson} DESTINATION lib/zb RENAME libjansson.so.4 ${portable})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zb DESTINATION include ${portable} FILES_MATCHING PATTERN *.h
  PATTERN *.def PATTERN mlir.h EXCLUDE PATTERN op.h EXCLUDE)
install(FILES ${irdl} ${PROJECT_SOURCE_DIR}/runtime/plan/file/plan.proto DESTINATION share/zb ${portable})
zb_pkg_config(zb "Compiler and runtime for zero-bubble pipeline-parallel training" FOLDER ${CMAKE_BINARY_DIR}/portable
  LIBDIR lib)
install(FILES ${CMAKE_BINARY_DIR}/portable/zb.pc DESTINATION lib/pkgconfig ${portable})

# find_package(zb): zb::zb. The components of an installation need the MLIR of the caller. CMake keeps one file a name
# and folder for both, so the targets have another name here.
file(WRITE ${CMAKE_BINARY_DIR}/portable/zbConfig.cmake "include(\"\${CMAKE_CURRENT_LIST_DIR}/zbPackedTargets.cmake\")
foreach(component \${zb_FIND_COMPONENTS})
  if(zb_FIND_REQUIRED_\${component})
    set(zb_FOUND FALSE)
    set(zb_NOT_FOUND_MESSAGE \"component '\${component}' of zb: packages have zb::zb alone; build zb from its sources\")
  endif()
endforeach()
")
install(EXPORT zb-portable NAMESPACE zb:: FILE zbPackedTargets.cmake DESTINATION lib/cmake/zb ${portable})
install(FILES ${CMAKE_BINARY_DIR}/portable/zbConfig.cmake ${CMAKE_BINARY_DIR}/zbConfigVersion.cmake
  DESTINATION lib/cmake/zb ${portable})

# A manual page is the text of --help.
function(zb_manual_page program purpose)
  set(page ${CMAKE_BINARY_DIR}/share/man/${program}.1)
  add_custom_command(OUTPUT ${page}.gz
    COMMAND ${CMAKE_COMMAND} -DPAGE=${page} -DNAME=${program} -DPURPOSE=${purpose} -DVERSION=${PROJECT_VERSION}
      "-DRUN=$<TARGET_FILE:${program}>" "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
      -P ${PROJECT_SOURCE_DIR}/tools/install/manual.cmake
    COMMAND gzip -9nf ${page} DEPENDS ${program} tools/install/manual.cmake VERBATIM)
  list(APPEND pages ${page}.gz)
  set(pages ${pages} PARENT_SCOPE)
endfunction()
set(pages)
zb_manual_page(zbc "compile a training graph into a pipeline-parallel plan")
zb_manual_page(zb-run "train with a plan of zbc")
zb_manual_page(zb-opt "run passes of zbc on MLIR text")
zb_manual_page(zb-sched "make and judge schedules of pipelines")
install(FILES ${pages} DESTINATION share/man/man1 ${portable})

# Licences of what is inside come from the packages that the archives are of, where these say theirs.
set(copyright ${CMAKE_BINARY_DIR}/share/copyright)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
file(WRITE ${copyright} "zb\n\n${licence}")
foreach(inside libmlir-22-dev libjansson-dev libprotobuf-c-dev libstdc++-12-dev)
  if(EXISTS /usr/share/doc/${inside}/copyright)
    file(READ /usr/share/doc/${inside}/copyright licence)
    file(APPEND ${copyright} "\n----\n\nThe programs and the library hold parts of ${inside}:\n\n${licence}")
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/share/changelog "zb (${PROJECT_VERSION}) unstable; urgency=medium

  * What is in it: README.md of the sources.

 -- zb maintainers <maintainers@zb.invalid>  Thu, 01 Jan 2026 00:00:00 +0000
")
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/share/changelog.gz
  COMMAND gzip -9nkf ${CMAKE_BINARY_DIR}/share/changelog DEPENDS ${CMAKE_BINARY_DIR}/share/changelog VERBATIM)
install(FILES ${copyright} ${CMAKE_BINARY_DIR}/share/changelog.gz DESTINATION share/doc/zb ${portable})

add_custom_target(zb-package DEPENDS zbc zb-opt zb-run zb-sched zb-portable zb-irdl ${pages}
  ${CMAKE_BINARY_DIR}/share/changelog.gz)
foreach(module zb-mpi zb-cuda)
  if(TARGET ${module})
    add_dependencies(zb-package ${module})
  endif()
endforeach()
# The wheel of the Python package with that library and its modules.
add_custom_target(zb-wheel DEPENDS zb-package
  COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --component portable --strip
    --prefix ${CMAKE_BINARY_DIR}/portable/root
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/python/backend.py ${CMAKE_BINARY_DIR}
    ${CMAKE_BINARY_DIR}/portable/root/lib VERBATIM)
if(TARGET zb-python)
  add_dependencies(zb-wheel zb-python)
endif()

set(CPACK_GENERATOR TGZ)
find_program(ZB_DPKG dpkg-deb)
if(ZB_DPKG)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};zb;portable;/")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/tools/install/glibc.cmake)
set(CPACK_ZB_BUILD ${CMAKE_BINARY_DIR})
set(CPACK_PACKAGE_NAME zb)
set(CPACK_PACKAGE_VENDOR zb)
set(CPACK_PACKAGE_CONTACT "zb maintainers <maintainers@zb.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler and runtime for zero-bubble pipeline-parallel training")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME zb-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin, libopenmpi3, libcuda1, libnccl2")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "zbc compiles a training graph (ONNX, StableHLO, Paddle, MLIR) into a plan for
a pipeline of ranks, whose backward passes are split in two so that ranks do
not wait for each other. zb-run trains with the plan, in threads, over TCP or,
where it is installed, over Open MPI, on CPUs and on NVIDIA GPUs.")
file(WRITE ${CMAKE_BINARY_DIR}/portable/triggers "activate-noawait ldconfig\n")
file(WRITE ${CMAKE_BINARY_DIR}/portable/shlibs "libzb ${PROJECT_VERSION_MAJOR} zb (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/portable/triggers ${CMAKE_BINARY_DIR}/portable/shlibs)
include(CPack)
