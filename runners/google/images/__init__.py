"""Images that Google builds and keeps.

For: bundlers of images on Google's clouds.
Here: `cloudbuild` (an image built by Cloud Build), `registry` (Artifact Registry).
Imports: `bundler`, `runners.google.api`.
"""
