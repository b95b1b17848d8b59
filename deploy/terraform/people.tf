# Members create below their own inbox and nowhere else in the private bucket: the path of a request is its author.
# objectCreator may not overwrite or delete, so a request that is there stays as it was written.

resource "google_storage_bucket_iam_member" "inbox" {
  for_each = var.managed_folders ? {} : var.members
  bucket   = google_storage_bucket.private.name
  role     = "roles/storage.objectCreator"
  member   = each.value

  condition {
    title      = "bastion inbox of ${each.key}"
    expression = "resource.name.startsWith(\"${local.private}/inbox/${each.key}/\")"
  }
}

# The same right where members are more than a bucket takes conditions: on a folder of each, which has rights of its own.
resource "google_storage_managed_folder" "inbox" {
  for_each = var.managed_folders ? var.members : {}
  bucket   = google_storage_bucket.private.name
  name     = "${var.bastion}/inbox/${each.key}/"
}

resource "google_storage_managed_folder_iam_member" "inbox" {
  for_each       = var.managed_folders ? var.members : {}
  bucket         = google_storage_managed_folder.inbox[each.key].bucket
  managed_folder = google_storage_managed_folder.inbox[each.key].name
  role           = "roles/storage.objectCreator"
  member         = each.value
}

# Who follows a log renews one small object for all who follow; it does nothing but make workers upload sooner.
resource "google_storage_bucket_iam_member" "watch" {
  for_each = toset(values(var.members))
  bucket   = google_storage_bucket.private.name
  role     = "roles/storage.objectUser"
  member   = each.value

  condition {
    title      = "bastion watch"
    expression = "resource.name.startsWith(\"${local.private}/watch/\")"
  }
}

# A bundle that is to live longer is uploaded again, which takes the right to overwrite. Workers compare its digest.
resource "google_storage_bucket_iam_member" "bundles" {
  for_each = toset(values(var.members))
  bucket   = google_storage_bucket.ttl.name
  role     = "roles/storage.objectUser"
  member   = each.value

  condition {
    title      = "bastion bundles"
    expression = "resource.name.startsWith(\"${local.ttl}/bundles/\")"
  }
}

# Members and readers see everything: who waits, why, and everybody's logs; but not the key by which machines are known.
resource "google_storage_bucket_iam_member" "read_private" {
  for_each = setunion(toset(values(var.members)), var.admins, var.readers)
  bucket   = google_storage_bucket.private.name
  role     = "roles/storage.objectViewer"
  member   = each.value

  condition {
    title      = "bastion without its key"
    expression = "resource.name != \"${local.private}/seal.key\""
  }
}

resource "google_storage_bucket_iam_member" "read_permanent" {
  for_each = setunion(toset(values(var.members)), var.admins, var.readers)
  bucket   = google_storage_bucket.permanent.name
  role     = "roles/storage.objectViewer"
  member   = each.value
}

resource "google_storage_bucket_iam_member" "read_ttl" {
  for_each = setunion(toset(values(var.members)), var.admins, var.readers)
  bucket   = google_storage_bucket.ttl.name
  role     = "roles/storage.objectViewer"
  member   = each.value
}

# Admins change the two files, and see who has which right. They do not write the journal: the bastion does.
resource "google_storage_bucket_iam_member" "files" {
  for_each = var.admins
  bucket   = google_storage_bucket.private.name
  role     = "roles/storage.objectUser"
  member   = each.value

  condition {
    title      = "bastion quota and settings"
    expression = "resource.name == \"${local.private}/config.toml\" || resource.name == \"${local.private}/project-quotas/project-quotas.config\""
  }
}

resource "google_project_iam_custom_role" "auditor" {
  role_id     = "bastionAuditor"
  title       = "Bastion auditor"
  description = "Sees who has which right on a bucket: what bastion doctor asks."
  permissions = ["storage.buckets.get", "storage.buckets.getIamPolicy"]
}

resource "google_storage_bucket_iam_member" "audit_private" {
  for_each = var.admins
  bucket   = google_storage_bucket.private.name
  role     = google_project_iam_custom_role.auditor.id
  member   = each.value
}

resource "google_storage_bucket_iam_member" "audit_permanent" {
  for_each = var.admins
  bucket   = google_storage_bucket.permanent.name
  role     = google_project_iam_custom_role.auditor.id
  member   = each.value
}

resource "google_storage_bucket_iam_member" "audit_ttl" {
  for_each = var.admins
  bucket   = google_storage_bucket.ttl.name
  role     = google_project_iam_custom_role.auditor.id
  member   = each.value
}
