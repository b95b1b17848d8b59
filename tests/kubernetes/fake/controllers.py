"""The controllers of a fake cluster: JobSets make Jobs, Jobs make pods, what nobody owns any more goes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.kubernetes.fake import kueue
from tests.kubernetes.fake.store import Row, Store, condition, has, owned_by, owner_of

OVER = ("Succeeded", "Failed")
JOBSET = "jobset.sigs.k8s.io/"
BATCH = "batch.kubernetes.io/"


@dataclass
class Controllers:
    """`end` begins the end of a pod, with its own time for it."""

    store: Store
    end: Callable[[Row, int | None], None]
    new_name: Callable[[], str]
    kueue: bool = False
    refuses_pods: str = ""
    """Why none is made; `NAME` is the pod's."""

    indices: dict[str, dict[int, str]] = field(default_factory=dict)
    """By the uid of a Job what its indices have come to: "", "ok", "failed"."""

    def settle(self) -> None:
        """Until nothing changes any more."""
        before = -1
        while before != self.store.version:
            before = self.store.version
            for row in self.store.of("JobSet"):
                self._jobset(row)
            for row in self.store.of("Job"):
                self._job(row)
            self._collect()

    def _jobset(self, row: Row) -> None:
        if has(row, "Completed", "Failed"):
            return
        if self.kueue:
            kueue.queue(self.store, row, row["spec"]["replicatedJobs"])
        if row["spec"].get("suspend"):
            self._suspend(self.store.owned("Job", row), True)
            return
        self._suspend(self.store.owned("Job", row), False)
        for group in row["spec"]["replicatedJobs"]:
            for index in range(group["replicas"]):
                self._job_of(row, group, index)
        jobs = list(self.store.owned("Job", row))
        if any(has(job, "Failed") for job in jobs):
            condition(row, "Failed", reason="FailedJobs", message="jobset failed due to one or more job failures")
            self.store.touch(row)
            for job in jobs:
                if not has(job, "Complete", "Failed"):
                    self.store.drop(job)
        elif jobs and all(has(job, "Complete") for job in jobs):
            condition(row, "Completed", reason="AllJobsCompleted", message="jobset completed successfully")
            self.store.touch(row)

    def _suspend(self, jobs: Iterator[Row], suspended: bool) -> None:
        for job in jobs:
            if bool(job["spec"].get("suspend")) != suspended:
                job["spec"]["suspend"] = suspended
                self.store.touch(job)

    def _job_of(self, row: Row, group: Row, index: int) -> None:
        name = f"{row['metadata']['name']}-{group['name']}-{index}"
        if ("Job", row["metadata"]["namespace"], name) in self.store.rows:
            return
        template = copy.deepcopy(group["template"])
        labels = {f"{JOBSET}jobset-name": row["metadata"]["name"], f"{JOBSET}job-index": str(index)}
        for metadata in (template["metadata"], template["spec"]["template"]["metadata"]):
            metadata["labels"] = metadata.get("labels", {}) | labels
        template["metadata"] |= {"name": name, "ownerReferences": owned_by(row)}
        self.store.make("Job", row["metadata"]["namespace"], template)

    def _job(self, row: Row) -> None:
        if has(row, "Complete", "Failed"):
            return
        if self.kueue:
            kueue.queue(self.store, row, [{"name": "main", "replicas": 1, "template": row}])
        known = self.indices.setdefault(row["metadata"]["uid"], {})
        if row["spec"].get("suspend"):
            known.clear()
            for pod in self.store.owned("Pod", row):
                self.end(pod, None)
            return
        pods = {
            int(pod["metadata"]["labels"][f"{BATCH}job-completion-index"]): pod for pod in self.store.owned("Pod", row)
        }
        for index in range(row["spec"]["completions"]):
            pod = pods.get(index)
            if index not in known and self.refuses_pods:
                self._event(
                    row, self.refuses_pods.replace("NAME", f"{row['metadata']['name']}-{index}-{self.new_name()[:5]}")
                )
            elif index not in known:
                known[index] = ""
                self._pod(row, index)
            elif not known[index] and (pod is None or pod["status"]["phase"] in OVER):
                known[index] = "ok" if pod and pod["status"]["phase"] == "Succeeded" else "failed"
        if all(known.values()) and len(known) == row["spec"]["completions"]:
            failed = "failed" in known.values()
            condition(row, "Failed" if failed else "Complete", reason="FailedIndexes" if failed else "")
            self.store.touch(row)

    def _event(self, row: Row, why: str) -> None:
        name, namespace = f"{row['metadata']['name']}.refused", row["metadata"]["namespace"]
        if ("Event", namespace, name) in self.store.rows:
            return
        about = {"kind": "Job", "name": row["metadata"]["name"], "uid": row["metadata"]["uid"], "namespace": namespace}
        told = {"reason": "FailedCreate", "message": f"Error creating: {why}", "lastTimestamp": "2026-01-01T00:00:00Z"}
        self.store.make(
            "Event", namespace, {"metadata": {"name": name}, "involvedObject": about, "type": "Warning", **told}
        )

    def _pod(self, row: Row, index: int) -> None:
        pod = copy.deepcopy(row["spec"]["template"])
        name = f"{row['metadata']['name']}-{index}-{self.new_name()[:5]}"
        labels = {f"{BATCH}job-completion-index": str(index), f"{BATCH}job-name": row["metadata"]["name"]}
        pod["metadata"] = {
            **pod.get("metadata", {}),
            "name": name,
            "labels": pod.get("metadata", {}).get("labels", {}) | labels,
            "ownerReferences": owned_by(row),
        }
        pod["spec"]["containers"][0].setdefault("env", []).append({"name": "JOB_COMPLETION_INDEX", "value": str(index)})
        pod["status"] = {"phase": "Pending"}
        self.store.make("Pod", row["metadata"]["namespace"], pod)

    def _collect(self) -> None:
        """What has lost its owner goes, too; pods with the time that they are to have."""
        alive = self.store.uids()
        for kind in ("Workload", "Job", "Pod"):
            for row in self.store.of(kind):
                if (owner := owner_of(row)) and owner not in alive:
                    if kind == "Pod":
                        self.end(row, None)
                    else:
                        self.store.drop(row)
