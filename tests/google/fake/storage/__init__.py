"""Buckets, images and builds, faked."""
