"""The machine that one of our processes runs on.

For: programs, which pass the real clock and threads as parameters to other code.
Here: clock and threads (`system`), name and boot (`host`), folders of this account (`local_paths`), commands, the
    store's clock.
Imports: `bastion.model`.
"""
