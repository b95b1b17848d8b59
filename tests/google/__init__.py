"""Google Cloud as these tests need it: a fake that speaks Google's own schemas, and the tests against it.

    with Fake() as google:
        environ = google.environment()            # CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU, ..._COMPUTE, ...
        ...                                       # the code under test calls http://127.0.0.1:<port>/tpu/v2/projects/...
        google.clock.advance(60)                  # operations end, queued resources go on; nothing sleeps
        google.faults.stock_out("us-central2-b")  # what goes wrong is said, or drawn: google.faults.draw(Random(7), 0.1)
        google.preempt("n-0")                     # what Google does by itself; google.storm(Random(7), 600): every so often
        google.rows("nodes"), google.calls("tpu.")  # what there is, and every request with its answer's status

A base URL is that of gcloud's own override: it holds the service's path, so Compute's ends with `/compute/v1/`.
`googleapiclient.discovery.build_from_document(document, client_options={"api_endpoint": url}, ...)` takes it as it is.

A project is there before it is named: with the network `default`, a subnetwork in every region, all services switched
on, and quota for everything. Requests without credentials are those of `google.cloud.account`, who may do everything;
`google.environment(account=EMAIL)` gives addresses where they are that account's. A service account has the rights that
its roles give it. `google.login(file)` writes credentials, `google.token(EMAIL)` answers an access token.

Requests per minute are limited as Google's are, on the fake's clock: `google.rates.most` says how many, `google.rates.refused`
how many were too many. Where time stands still, so does the minute.

A request that Google's schemas do not know is answered with 400, and makes the end of the `with` block fail, unless the
test clears `google.mistakes`. So do an answer of the fake that does not fit its own schema, and a crash in it.

Time stands still but for `clock.advance`, or goes on by itself: `Fake(speed=1)`; `google.cloud.delays` says how long
things take. With `Fake(machines=Room(tmp_path))` nodes and instances that come up run their start-up scripts on real
machines (`tests.google.support.machines`): `google.machines.one("n-0").said` is what that one printed.

Where the code of the fake says "a belief", Google's documentation is silent, and so are people's reports.
"""
