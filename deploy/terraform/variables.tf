variable "project" {
  type        = string
  description = "The Google Cloud project that the buckets and accounts belong to."
}

variable "location" {
  type        = string
  description = "Where the buckets lie, as in europe-west4."
}

variable "bastion" {
  type        = string
  default     = "team"
  description = "The bastion's name: what --bastion says."
}

variable "prefix" {
  type        = string
  description = "What the buckets' names begin with; they are the world's, so take your organisation's name."
}

variable "members" {
  type        = map(string)
  description = "Who may submit: the name in --user_id and the account, as in { alice = \"user:alice@example.com\" }."

  validation {
    condition     = alltrue([for user in keys(var.members) : can(regex("^[A-Za-z0-9]([A-Za-z0-9._@+-]{0,62}[A-Za-z0-9])?$", user))])
    error_message = "A user's name has 1 to 64 letters, digits, '.', '_', '@', '+' and '-', and begins and ends with a letter or digit."
  }
}

variable "managed_folders" {
  type        = bool
  default     = false
  description = "Give members the right to their inboxes on managed folders, not by conditions of the bucket: for more members than it takes conditions."
}

variable "admins" {
  type        = set(string)
  description = "Accounts that may change quota and settings, and read the buckets' rights with bastion doctor."
}

variable "readers" {
  type        = set(string)
  default     = []
  description = "Accounts that may look at everything and submit nothing, as in [\"group:ml@example.com\"]."
}

variable "bundles_days" {
  type        = number
  default     = 30
  description = "Days that bundles are kept: the same as retention.bundles_days in config.toml."
}
