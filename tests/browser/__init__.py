"""A package for pytest, too: the server and the browser end after its last test.

While a browser runs, its event loop is the thread's, and no other test could have one.
"""
