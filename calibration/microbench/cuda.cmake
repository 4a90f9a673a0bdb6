# The program itself. CMake 3.25 knows no C++20 and no architectures of CUDA 13: the flag that it passes for
# the newest standard that it knows is made that of C++20, and nvcc is told the architectures by hand.
set(CMAKE_CUDA_COMPILER ${PACKSIM_NVCC})
set(CMAKE_CUDA_ARCHITECTURES OFF)
enable_language(CUDA)
set(cuda_standard 20)
if(NOT "cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
  set(cuda_standard 17)
  set(CMAKE_CUDA17_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA17_EXTENSION_COMPILE_OPTION -std=c++20)
endif()

# Machine code for A100 and H100 and the code that newer GPUs' drivers compile, or what the user wants.
set(PACKSIM_CUDA_GENCODE "" CACHE STRING "nvcc's -gencode arguments, ;-separated; empty: sm_80, sm_90 and PTX")
set(gencode ${PACKSIM_CUDA_GENCODE})
if(NOT gencode)
  set(gencode arch=compute_80,code=sm_80 arch=compute_90,code=sm_90 arch=compute_90,code=compute_90)
endif()
set(cuda_options)
foreach(argument IN LISTS gencode)
  list(APPEND cuda_options "SHELL:-gencode ${argument}")
endforeach()
# -Wno-restrict: false alarms of g++ 12 (GCC bug 105651).
set(host_warnings -Wall -Wextra -Wshadow $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
list(APPEND cuda_options "SHELL:-Xcompiler -Wall,-Wextra,-Wshadow"
     "$<$<CXX_COMPILER_ID:GNU>:SHELL:-Xcompiler -Wno-restrict>")
if(PACKSIM_WERROR)
  list(APPEND cuda_options "SHELL:-Werror all-warnings" "SHELL:-Xcompiler -Werror")
  list(APPEND host_warnings -Werror)
endif()

# Libraries, each needed unless PACKSIM_WITHOUT names it: CMAKE_PREFIX_PATH, the toolkit, pip wheels (.cuda of the project, made by
# cmake/install_cuda.sh, or a site-packages folder such as PyTorch's), the system.
set(PACKSIM_CUDA_WHEELS "" CACHE PATH "A folder with pip wheels of CUDA libraries: .../site-packages")
list(TRANSFORM CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES REPLACE "/include$" "" OUTPUT_VARIABLE prefixes)
foreach(wheels ${PACKSIM_CUDA_WHEELS} ${packsim_root}/.cuda)
  file(GLOB wheel_folders ${wheels}/nvidia/*)
  list(APPEND prefixes ${wheels} ${wheel_folders})
endforeach()

# Sets ${name}_include and ${name}_library where both are found. Wheels have libraries with a version only.
function(find_cuda_library name header library_names)
  find_path(${name}_include ${header} HINTS ${prefixes} PATH_SUFFIXES include)
  find_library(${name}_library NAMES ${library_names} NAMES_PER_DIR HINTS ${prefixes}
               PATH_SUFFIXES lib lib64 lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
  mark_as_advanced(${name}_include ${name}_library)
endfunction()
find_cuda_library(PACKSIM_CUBLASLT cublasLt.h "cublasLt;libcublasLt.so.13;libcublasLt.so.12")
find_cuda_library(PACKSIM_CUDNN cudnn.h "cudnn;libcudnn.so.9")
find_cuda_library(PACKSIM_NCCL nccl.h "nccl;libnccl.so.2")
find_path(PACKSIM_CUDNN_FRONTEND_include cudnn_frontend.h HINTS ${prefixes} PATH_SUFFIXES include)
# cuDNN opens it while it runs, to compile its attention kernels.
find_library(PACKSIM_NVRTC_library NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 NAMES_PER_DIR HINTS ${prefixes}
             PATH_SUFFIXES lib lib64)

file(GLOB program_sources CONFIGURE_DEPENDS kernels/*.cu kernels/verify/*.cu kernels/*.cpp distributed/*.cu)
list(FILTER program_sources EXCLUDE REGEX "/(gemm|attention)(_absent)?\\.(cu|cpp)$|/reference\\.cpp$")
set(nccl_sources ${program_sources})
list(FILTER nccl_sources INCLUDE REGEX "/distributed/")
list(FILTER nccl_sources EXCLUDE REGEX "/(gpu_choice|cuda_handles)\\.cu$")
list(REMOVE_ITEM program_sources ${nccl_sources})

add_executable(packsim_microbench main.cpp ${program_sources})
set_target_properties(packsim_microbench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                      CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CUDA_STANDARD ${cuda_standard})
target_link_libraries(packsim_microbench PRIVATE packsim_microbench_core ${CMAKE_DL_LIBS})
target_include_directories(packsim_microbench SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_compile_options(packsim_microbench PRIVATE
                       "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>"
                       "$<$<COMPILE_LANGUAGE:CXX>:${host_warnings}>")

set(PACKSIM_WITHOUT "" CACHE STRING "Libraries to build without: cublaslt, cudnn, nccl, ;-separated")

# Adds the sources that need a library, or those that stand in their place. Usage:
# use_library(<name> <definition> <what is skipped> <include folders> <libraries> <sources> <sources instead>)
function(use_library name definition skipped includes libraries sources instead)
  if(name IN_LIST PACKSIM_WITHOUT)
    message(STATUS "${name}: left out as PACKSIM_WITHOUT says; ${skipped} will be skipped")
    target_compile_definitions(packsim_microbench PRIVATE ${definition}=0)
    target_sources(packsim_microbench PRIVATE ${instead})
    return()
  endif()
  if(includes MATCHES NOTFOUND OR libraries MATCHES NOTFOUND)
    message(FATAL_ERROR "${name} not found (headers: ${includes}; library: ${libraries}), which measures ${skipped}. "
            "Run cmake/install_cuda.sh, give -DPACKSIM_CUDA_WHEELS=.../site-packages, or build without it: "
            "-DPACKSIM_WITHOUT=${name}")
  endif()
  message(STATUS "${name}: ${libraries}")
  target_compile_definitions(packsim_microbench PRIVATE ${definition}=1)
  target_sources(packsim_microbench PRIVATE ${sources})
  target_include_directories(packsim_microbench SYSTEM PRIVATE ${includes})
  target_link_libraries(packsim_microbench PRIVATE ${libraries})
endfunction()
use_library(cublaslt PACKSIM_HAS_CUBLASLT gemm "${PACKSIM_CUBLASLT_include}" "${PACKSIM_CUBLASLT_library}"
            kernels/gemm.cu kernels/gemm_absent.cpp)
use_library(cudnn PACKSIM_HAS_CUDNN attention "${PACKSIM_CUDNN_include};${PACKSIM_CUDNN_FRONTEND_include}"
            "${PACKSIM_CUDNN_library}" kernels/attention.cpp kernels/attention_absent.cpp)
use_library(nccl PACKSIM_HAS_NCCL "collective and overlap" "${PACKSIM_NCCL_include}" "${PACKSIM_NCCL_library}"
            "${nccl_sources}" distributed/collectives_absent.cpp)

# cuDNN opens NVRTC by its name while it runs. Where it is in a folder that only this program knows, it must
# be there already.
if(PACKSIM_NVRTC_library)
  target_link_libraries(packsim_microbench PRIVATE -Wl,--no-as-needed ${PACKSIM_NVRTC_library} -Wl,--as-needed)
endif()

# It must start anywhere: without a GPU it says so.
enable_testing()
add_test(NAME microbench_starts
         COMMAND ${packsim_root}/tests/microbench/starts.sh $<TARGET_FILE:packsim_microbench>)
add_test(NAME microbench_libraries
         COMMAND ${packsim_root}/tests/microbench/libraries.sh ${packsim_root} ${PACKSIM_NVCC})
