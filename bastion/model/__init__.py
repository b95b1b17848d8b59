"""Everything that is stored in a bucket or sent, as values.

For: all other folders; a change here changes what a bucket holds.
Here: `errors`, `interfaces`, `layout` (names in the bucket), `codec` (JSON), words and versions; below it `job` (the
    spec),
`state` (the state of jobs), `stored` (records, requests, events) and `settings` (config.toml).
Imports: `quota`. Nothing here reads or writes.
"""
