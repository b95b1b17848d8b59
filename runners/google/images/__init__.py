"""Images that Google builds and keeps.

For: the bundlers that make images in Google's clouds.
Here: `cloud_build` (an image that Cloud Build makes), `artifact_registry`.
Imports: `bastion.model`, `bundler`, `runners.google.api`.
"""
