"""The guard of invariant I1: nothing that depends on the state of the world precedes an invocation's manifest.

Three ways: over the source (`static`), at run time under an audit hook (`runtime`), and under strace (`traced`);
`planted` proves that each of them bites.
"""
