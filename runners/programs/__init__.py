"""The programs that runners start on machines.

For: the command lines that runners write.
Here: `worker`, `lay` (puts the worker into a pod), `ray_host` (what a Ray job of ours runs).
Imports: all of `runners`.
"""
