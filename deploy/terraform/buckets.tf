# Three buckets, because they want different rights and different lives. None can be made public, and none has rights on
# single objects beside what is said in these files.

resource "google_storage_bucket" "private" {
  name                        = "${var.prefix}-private"
  location                    = var.location
  public_access_prevention    = "enforced"
  uniform_bucket_level_access = true

  # The journal is the state: what is deleted or overwritten in it can be put back.
  versioning {
    enabled = true
  }

  soft_delete_policy {
    retention_duration_seconds = 2592000
  }

  # Beats, facts and status.json are rewritten all the time; of what is not the journal old versions go soon.
  lifecycle_rule {
    condition {
      days_since_noncurrent_time = 1
      matches_prefix             = ["${var.bastion}/beats/", "${var.bastion}/workers/", "${var.bastion}/watch/", "${var.bastion}/status.json"]
    }
    action {
      type = "Delete"
    }
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "google_storage_bucket" "permanent" {
  name                        = "${var.prefix}-permanent"
  location                    = var.location
  public_access_prevention    = "enforced"
  uniform_bucket_level_access = true

  soft_delete_policy {
    retention_duration_seconds = 604800
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "google_storage_bucket" "ttl" {
  name                        = "${var.prefix}-ttl"
  location                    = var.location
  public_access_prevention    = "enforced"
  uniform_bucket_level_access = true

  soft_delete_policy {
    retention_duration_seconds = 604800
  }

  lifecycle_rule {
    condition {
      age            = var.bundles_days
      matches_prefix = ["${var.bastion}/bundles/"]
    }
    action {
      type = "Delete"
    }
  }
}

locals {
  private   = "projects/_/buckets/${google_storage_bucket.private.name}/objects/${var.bastion}"
  permanent = "projects/_/buckets/${google_storage_bucket.permanent.name}/objects/${var.bastion}"
  ttl       = "projects/_/buckets/${google_storage_bucket.ttl.name}/objects/${var.bastion}"
}
