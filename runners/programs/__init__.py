"""The programs that runners start on machines.

For: the command lines that runners write.
Here: `worker`, `lay` (puts the worker into a pod), `ray_host` (the program of a Ray job of ours).
Imports: `bastion.model`, `bastion.platform`, `bastion.stores`, `bundler`, `runners.delivery`, `runners.google`,
`runners.kubernetes`, `runners.local`, `runners.ray`, `runners.worker`.
"""
