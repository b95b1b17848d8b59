"""Images that Google builds and keeps.

For: bundlers of images on Google's clouds.
Here: `cloud_build` (an image that Cloud Build makes), `artifact_registry`.
Imports: `bundler`, `runners.google.api`.
"""
