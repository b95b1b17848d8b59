"""What is stored and said, as values.

For: every other room; a change here changes what a bucket holds.
Here: `errors`, `interfaces`, `layout` (names in the bucket), `codec` (JSON), words and versions; below it `job` (the spec),
`state` (where jobs stand), `stored` (records, requests, events) and `settings` (config.toml).
Imports: `quota`, for amounts of hardware and the TOML reader. Nothing here reads or writes.
"""
