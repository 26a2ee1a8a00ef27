# The device code of kernels/cuda as C++ for this CPU: tests run the kernels that a GPU runs, without one (emulator.h). g++ is among the
# packages that zbc is built with; without a C++ compiler these tests are left out.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  add_library(zb_emulated_cuda OBJECT EXCLUDE_FROM_ALL ${ZB_CUDA_SOURCES} ${CMAKE_CURRENT_LIST_DIR}/emulator.cpp)
  set_source_files_properties(${ZB_CUDA_SOURCES} PROPERTIES LANGUAGE CXX)
  file(GLOB cuda_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cuh)
  set_source_files_properties(${ZB_CUDA_SOURCES} PROPERTIES OBJECT_DEPENDS "${cuda_texts}")
  target_compile_options(zb_emulated_cuda PRIVATE -x c++ -include ${CMAKE_CURRENT_LIST_DIR}/emulator.h -Wall -Wextra -Wshadow -ffp-contract=off
    -fno-strict-aliasing -fno-exceptions $<$<NOT:$<CONFIG:Debug>>:-O2> $<$<BOOL:${ZB_WERROR}>:-Werror>)
  if(ZB_SANITIZE)
    target_compile_options(zb_emulated_cuda PRIVATE -fsanitize=${ZB_SANITIZE} -fno-omit-frame-pointer)
  endif()
  target_compile_definitions(zb_emulated_cuda PRIVATE ZB_CUDA_EMULATED=1)
  target_compile_features(zb_emulated_cuda PRIVATE cxx_std_17)
  target_include_directories(zb_emulated_cuda PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  add_library(zb_emulated_driver OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/driver.c
    ${CMAKE_CURRENT_LIST_DIR}/blas.c)
  target_link_libraries(zb_emulated_driver PUBLIC zb_options)
  add_dependencies(zb_emulated_driver zb_module_id)
  zb_tests(kernels/cuda zb_emulated_cuda zb_emulated_driver zb_kernels_cuda zb_kernels_cpu zb_cuda)
endif()
