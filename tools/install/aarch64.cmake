# Toolchain: programs for AArch64 made on another machine (tools/arm64.sh, which gives ZB_SYSROOT: a folder with the
# libraries of Debian's arm64). Programs of the build run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
if(NOT ZB_SYSROOT)
  set(ZB_SYSROOT $ENV{ZB_SYSROOT})
endif()
set(ENV{ZB_SYSROOT} ${ZB_SYSROOT}) # for the projects by which CMake tries the compiler
set(ENV{PKG_CONFIG_LIBDIR} ${ZB_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ZB_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${ZB_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# CUnit, of the tests.
set(CMAKE_C_FLAGS_INIT "-isystem ${ZB_SYSROOT}/usr/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${ZB_SYSROOT}/usr/lib/aarch64-linux-gnu")
