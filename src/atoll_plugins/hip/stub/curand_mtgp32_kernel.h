/* Empty on purpose: clang's CUDA wrapper includes this header of cuRAND, which is a package of its own, whether a
   unit uses it or not. The folder is searched last, so where cuRAND is installed its header is found first. */
