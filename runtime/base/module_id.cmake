# Writes OUT, a header with ZB_BUILD_ID: a digest of all headers that a program and its modules share. So a
# module of another build is refused exactly when it could see a structure differently.
# usage: cmake -DROOT=source -DOUT=file -P module_id.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB headers RELATIVE ${ROOT}
  ${ROOT}/include/zb/*.h ${ROOT}/include/zb/*.def ${ROOT}/runtime/*/*.h ${ROOT}/runtime/*/*.def
  ${ROOT}/runtime/plan/*/*.h ${ROOT}/runtime/plan/*/*.def)
list(SORT headers)
set(digests)
foreach(header ${headers})
  file(SHA256 ${ROOT}/${header} digest)
  string(APPEND digests "${header} ${digest}\n")
endforeach()
string(SHA256 id "${digests}")
string(SUBSTRING ${id} 0 16 id)
file(CONFIGURE OUTPUT ${OUT} @ONLY
  CONTENT "/* Written by runtime/base/module_id.cmake. */\n#define ZB_BUILD_ID \"@id@\"\n")
