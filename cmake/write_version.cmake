# cmake -DROOT=<project> -DVERSION=0.1.0 -DOUTPUT=<version.cpp> -P write_version.cmake
# Writes what build_version() returns, and leaves the file alone if it says so already.

# What programs are made of, and the data that they come with. Other files change no result.
set(folders calibration/fit calibration/profiles cli experiment files models packing plan_files planning python recommend
    reports scenarios sim sweep validation)
set(endings cc cpp css h hpp js json py)

function(hash_of_sources digits result)
  set(patterns)
  foreach(folder IN LISTS folders)
    foreach(ending IN LISTS endings)
      list(APPEND patterns ${ROOT}/${folder}/*.${ending})
    endforeach()
  endforeach()
  file(GLOB_RECURSE paths RELATIVE ${ROOT} ${patterns})
  set(hashes "")
  foreach(path IN LISTS paths ITEMS CMakeLists.txt)
    file(SHA256 ${ROOT}/${path} hash)
    string(APPEND hashes "${path} ${hash}\n")
  endforeach()
  string(SHA256 hash "${hashes}")
  string(SUBSTRING ${hash} 0 ${digits} hash)
  set(${result} ${hash} PARENT_SCOPE)
endfunction()

# What git prints; empty and false where there is no git, or no repository that it trusts.
function(ask_git result)
  execute_process(COMMAND git -C ${ROOT} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${text}" PARENT_SCOPE)
  set(${result}_failed ${status} PARENT_SCOPE)
endfunction()

# A project inside the repository of another one has a folder in it.
ask_git(folder_in_repository rev-parse --show-prefix)
ask_git(commit rev-parse --short=12 HEAD)
if(folder_in_repository_failed OR commit_failed OR folder_in_repository)
  hash_of_sources(12 hash)
  set(build sources.${hash})
else()
  set(build g${commit})
  list(TRANSFORM folders APPEND / OUTPUT_VARIABLE places)
  ask_git(changes status --porcelain --untracked-files=all -- CMakeLists.txt ${places})
  if(changes)
    hash_of_sources(8 hash)
    string(APPEND build .dirty.${hash})
  endif()
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[#include "files/version.hpp"

const char* packsim::build_version() {
  return "@VERSION@+@build@";
}
]])
