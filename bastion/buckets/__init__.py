"""Object stores behind the `Bucket` door: a folder, Google Cloud Storage, memory."""
