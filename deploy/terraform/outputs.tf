output "create" {
  description = "How the bastion is created on these buckets, by an account that may act as the bastion's."
  value       = "bastion create --bastion=${var.bastion} --bucket=gs://${google_storage_bucket.private.name} --permanent_bucket=gs://${google_storage_bucket.permanent.name} --ttl_bucket=gs://${google_storage_bucket.ttl.name}"
}

output "bastion_account" {
  description = "Who the bastion runs as."
  value       = google_service_account.bastion.email
}

output "worker_account" {
  description = "Who machines run as."
  value       = google_service_account.worker.email
}
