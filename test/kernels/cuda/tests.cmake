# The device code of kernels/cuda as C++ for this CPU: tests run the kernels that a GPU runs, without one (emulator.h).
# g++ is among the packages that zbc is built with; without a C++ compiler these tests are left out.
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  return()
endif()
enable_language(CXX)
file(GLOB cuda_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cuh)

# zb_emulated(NAME sources...): .cu files, and C++, with the emulation in front of each.
function(zb_emulated name)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${ARGN})
  foreach(source ${ARGN})
    set_source_files_properties(${source} PROPERTIES LANGUAGE CXX OBJECT_DEPENDS "${cuda_texts}")
  endforeach()
  target_compile_options(${name} PRIVATE -x c++ -include ${PROJECT_SOURCE_DIR}/test/kernels/cuda/emulator.h
    -Wall -Wextra -Wshadow -ffp-contract=off -fno-strict-aliasing -fno-exceptions
    $<$<NOT:$<CONFIG:Debug>>:-O2> $<$<BOOL:${ZB_WERROR}>:-Werror>)
  if(ZB_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${ZB_SANITIZE} -fno-omit-frame-pointer)
  endif()
  target_compile_definitions(${name} PRIVATE ZB_CUDA_EMULATED=1)
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
endfunction()

set(here ${CMAKE_CURRENT_LIST_DIR})
zb_emulated(zb_emulator ${here}/emulator.cpp)
zb_emulated(zb_emulated_cuda ${ZB_CUDA_SOURCES})
zb_emulated(zb_broken_cuda ${here}/broken.cu)
add_library(zb_emulated_driver OBJECT EXCLUDE_FROM_ALL ${here}/driver.c ${here}/blas.c)
target_link_libraries(zb_emulated_driver PUBLIC zb_options)
add_dependencies(zb_emulated_driver zb_module_id)
zb_tests(kernels/cuda zb_emulator zb_kernels_cuda zb_kernels_cpu zb_cuda)
foreach(test conformance digits shapes blas)
  target_link_libraries(kernels-cuda-${test}_test PRIVATE zb_emulated_cuda zb_emulated_driver)
endforeach()
target_link_libraries(kernels-cuda-emulator_test PRIVATE zb_broken_cuda)
