# The CUDA kernels. The host side is plain C. The device code is compiled by nvcc, where there is one, to a fatbin a
# file, which the assembler puts into an object; without nvcc the library says so when it is asked for the code.
zb_room(zb_kernels_cuda FOLDERS kernels/cuda LINK zb_cuda zb_base)
set_target_properties(zb_kernels_cuda PROPERTIES EXCLUDE_FROM_ALL ON)

set(ZB_CUDA AUTO CACHE STRING
  "The module zb-cuda.so, training on NVIDIA GPUs: ON, OFF, AUTO (if nvcc is found; part of all if there is a GPU)")
# Machine code for A100, H100/H200 and B200 and their families; PTX, which a driver compiles,
# for all others from 8.0 on.
set(ZB_CUDA_ARCHITECTURES 80 90 100 CACHE STRING "Compute capabilities that CUDA kernels get machine code for")
find_program(ZB_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
file(GLOB ZB_CUDA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
if(ZB_CUDA STREQUAL ON AND NOT ZB_NVCC)
  message(FATAL_ERROR "ZB_CUDA=ON, but there is no nvcc: install the CUDA toolkit, or set CUDA_PATH to its folder")
endif()
set(ZB_CUDA_OPTIONAL)
if(ZB_CUDA STREQUAL AUTO AND ZB_NVCC AND NOT ZB_PORTABLE)
  execute_process(COMMAND nvidia-smi --list-gpus OUTPUT_VARIABLE gpus ERROR_QUIET)
  if(NOT gpus MATCHES "^GPU ")
    set(ZB_CUDA_OPTIONAL OPTIONAL)
    message(STATUS "No GPU is found: `ninja zb-cuda` builds zb-cuda.so (-DZB_CUDA=ON: so does `ninja`)")
  endif()
endif()
if(NOT ZB_CUDA STREQUAL OFF AND ZB_NVCC)
  file(GLOB cuda_headers CONFIGURE_DEPENDS kernels/cuda/*.cuh kernels/cuda/*.h kernels/cuda/*.def kernels/cpu/ref/*.def
    runtime/base/random.h)
  set(every_gpu -gencode arch=compute_80,code=compute_80)
  set(targets ${every_gpu})
  foreach(architecture ${ZB_CUDA_ARCHITECTURES})
    list(APPEND targets -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  set(folder ${CMAKE_BINARY_DIR}/cuda)
  file(MAKE_DIRECTORY ${folder})
  set(rows "")
  # Kernels that only 9.0 runs, and runs whatever the list says: the others get traps, so that the file loads.
  set(targets_of_hopper ${every_gpu} -gencode arch=compute_90a,code=sm_90a)
  foreach(source ${ZB_CUDA_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    set(its_targets ${targets})
    if(DEFINED targets_of_${name})
      set(its_targets ${targets_of_${name}})
    endif()
    add_custom_command(OUTPUT ${folder}/${name}.fatbin
      COMMAND ${ZB_NVCC} -std=c++17 -O3 -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include -Xcompiler -Wall,-Wextra
        -Werror all-warnings -fatbin ${its_targets} -o ${folder}/${name}.fatbin ${source}
      DEPENDS ${source} ${cuda_headers} VERBATIM)
    file(CONFIGURE OUTPUT ${folder}/${name}.c @ONLY CONTENT [[
__asm__(".section .rodata\n.balign 64\n.globl zb_cuda_image_@name@\nzb_cuda_image_@name@:\n"
        ".incbin \"@folder@/@name@.fatbin\"\n.previous\n");
typedef int zb_cuda_image_is_in_the_assembly;
]])
    set_source_files_properties(${folder}/${name}.c PROPERTIES OBJECT_DEPENDS ${folder}/${name}.fatbin)
    target_sources(zb_kernels_cuda PRIVATE ${folder}/${name}.c)
    string(APPEND rows "ZB_CUDA_IMAGE(${name})")
  endforeach()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/cuda/code.c PROPERTIES
    COMPILE_DEFINITIONS "ZB_CUDA_IMAGES=${rows}")
endif()
