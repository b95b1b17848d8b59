"""The machine that a process of ours runs on.

For: programs, which give the real clock and threads to code that gets them as parameters.
Here: clock and threads (`system`), name and boot (`host`), folders of this account (`local_paths`), commands, the store's clock.
Imports: `model`.
"""
