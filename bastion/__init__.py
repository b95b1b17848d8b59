"""A bucket-backed job scheduler for machine-learning fleets.

For: the scheduler itself, from the job spec to the loop that divides the fleet.
Here: `model` (what is stored), `stores` (buckets), `platform` (the machine), `journal`, `schedule`, `service`, `simulate`,
`testing`.
Imports: `quota`. `launcher`, `bundler`, `quota`, `runners` and `cli` are links to the folders beside it: all of
Bastion has one import name.
"""

from .former import answer

answer()
