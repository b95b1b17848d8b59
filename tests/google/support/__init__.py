"""What tests of Google's clouds share: machines, metadata, towns."""
