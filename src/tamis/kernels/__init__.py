"""WHERE time is spent: compiled functions, arrays in, arrays out. Imports nothing of ours.

Every kernel is declared with `kernel` from `tamis.kernels.jit`, so that Numba's options stand in one place. With
NUMBA_DISABLE_JIT=1 the same functions run as plain Python, which is how the tests run them a second time.
"""
