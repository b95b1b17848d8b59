# The bastion alone writes the journal, orders and snapshots, and removes what is done.

resource "google_service_account" "bastion" {
  account_id   = "bastion-${var.bastion}"
  display_name = "The bastion ${var.bastion}"
}

resource "google_storage_bucket_iam_member" "bastion_private" {
  bucket = google_storage_bucket.private.name
  role   = "roles/storage.objectAdmin"
  member = google_service_account.bastion.member
}

resource "google_storage_bucket_iam_member" "bastion_permanent" {
  bucket = google_storage_bucket.permanent.name
  role   = "roles/storage.objectAdmin"
  member = google_service_account.bastion.member
}

resource "google_storage_bucket_iam_member" "bastion_ttl" {
  bucket = google_storage_bucket.ttl.name
  role   = "roles/storage.objectAdmin"
  member = google_service_account.bastion.member
}

# The account of the machines, which users' processes share: it can report, and can neither ask nor decide.

resource "google_service_account" "worker" {
  account_id   = "bastion-${var.bastion}-worker"
  display_name = "Workers of the bastion ${var.bastion}"
}

# Without the right to list, a store says of what is not there that one may not know; workers ask for what is not there yet.
resource "google_project_iam_custom_role" "lister" {
  role_id     = "bastionLister"
  title       = "Bastion lister"
  description = "Sees the names of objects, and not what they hold."
  permissions = ["storage.objects.list"]
}

resource "google_storage_bucket_iam_member" "worker_lists_private" {
  bucket = google_storage_bucket.private.name
  role   = google_project_iam_custom_role.lister.id
  member = google_service_account.worker.member
}

resource "google_storage_bucket_iam_member" "worker_lists_permanent" {
  bucket = google_storage_bucket.permanent.name
  role   = google_project_iam_custom_role.lister.id
  member = google_service_account.worker.member
}

resource "google_storage_bucket_iam_member" "worker_lists_ttl" {
  bucket = google_storage_bucket.ttl.name
  role   = google_project_iam_custom_role.lister.id
  member = google_service_account.worker.member
}

resource "google_storage_bucket_iam_member" "worker_reads" {
  bucket = google_storage_bucket.private.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.worker.member

  condition {
    title      = "bastion builds, orders and claims"
    expression = "resource.name.startsWith(\"${local.private}/builds/\") || resource.name.startsWith(\"${local.private}/attempts/\") || resource.name.startsWith(\"${local.private}/claims/\") || resource.name.startsWith(\"${local.private}/watch/\")"
  }
}

# A claim is created once and never changed: who could replace one could run a job twice.
resource "google_storage_bucket_iam_member" "worker_claims" {
  bucket = google_storage_bucket.private.name
  role   = "roles/storage.objectCreator"
  member = google_service_account.worker.member

  condition {
    title      = "bastion claims"
    expression = "resource.name.startsWith(\"${local.private}/claims/\")"
  }
}

resource "google_storage_bucket_iam_member" "worker_reports" {
  bucket = google_storage_bucket.private.name
  role   = "roles/storage.objectUser"
  member = google_service_account.worker.member

  condition {
    title      = "bastion beats and facts"
    expression = "resource.name.startsWith(\"${local.private}/beats/\") || resource.name.startsWith(\"${local.private}/workers/\")"
  }
}

resource "google_storage_bucket_iam_member" "worker_fetches" {
  bucket = google_storage_bucket.ttl.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.worker.member

  condition {
    title      = "bastion bundles"
    expression = "resource.name.startsWith(\"${local.ttl}/bundles/\")"
  }
}

# Log segments are created once; a lost answer is settled by reading back.
resource "google_storage_bucket_iam_member" "worker_logs" {
  bucket = google_storage_bucket.permanent.name
  role   = "roles/storage.objectCreator"
  member = google_service_account.worker.member

  condition {
    title      = "bastion logs"
    expression = "resource.name.startsWith(\"${local.permanent}/logs/\")"
  }
}

resource "google_storage_bucket_iam_member" "worker_reads_logs" {
  bucket = google_storage_bucket.permanent.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.worker.member

  condition {
    title      = "bastion logs"
    expression = "resource.name.startsWith(\"${local.permanent}/logs/\")"
  }
}

# Outputs and checkpoints are the users' own; they overwrite and remove them.
resource "google_storage_bucket_iam_member" "worker_outputs" {
  bucket = google_storage_bucket.permanent.name
  role   = "roles/storage.objectUser"
  member = google_service_account.worker.member

  condition {
    title      = "bastion outputs"
    expression = "resource.name.startsWith(\"${local.permanent}/outputs/\")"
  }
}
