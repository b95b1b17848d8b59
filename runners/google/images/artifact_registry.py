"""Artifact Registry: the parts of an image's name, the images that are there, and the login for a push."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bastion.bundler.docker_engine import Login
from bastion.model.errors import BundleError
from bastion.model.nearest import did_you_mean

from ..api.interface import Google, ResourceNotFound

_NAME = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[a-z0-9.-]+)/(?P<repository>[a-z0-9-]+)/(?P<image>.+)"
)
_HOSTS = ("europe-docker.pkg.dev", "us-docker.pkg.dev", "asia-docker.pkg.dev")
MULTI = frozenset({"us", "europe", "asia"})
"""Locations that are no regions."""


@dataclass(frozen=True, slots=True)
class ImagePlace:
    """The place of an image.

    location: the region, or one of `MULTI`.
    project: the project's id.
    repository: the name of the repository.
    image: the path within the repository.
    """

    location: str
    project: str
    repository: str
    image: str

    @property
    def path(self) -> str:
        """The repository's name in the API."""
        return f"projects/{self.project}/locations/{self.location}/repositories/{self.repository}"


def place_of(name: str) -> ImagePlace | None:
    """Return the place of an image of this name; None if it is in another registry."""
    found = _NAME.fullmatch(name)
    return ImagePlace(**found.groupdict()) if found else None


def must_place(name: str) -> ImagePlace:
    """Return the place of an image of this name. Raises `BundleError` if it is in another registry."""
    found = place_of(name)
    if found is None:
        hint = did_you_mean(name.partition("/")[0], _HOSTS, "use LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE")
        raise BundleError(f"image is {name[:200]!r}, which is not in Artifact Registry; {hint}")
    return found


@dataclass(frozen=True, slots=True)
class ArtifactRegistry:
    """Artifact Registry, through its API.

    google: the API client.
    token: returns an access token of the account that is logged in.
    """

    google: Google
    token: Callable[[], str]

    def check(self, place: ImagePlace) -> None:
        """Raise `BundleError` unless images can be pushed to this place; `GoogleError` if that could not be asked."""
        try:
            found = self.google.call("artifactregistry.projects.locations.repositories.get", name=place.path)
        except ResourceNotFound as error:
            make = (
                f"gcloud artifacts repositories create {place.repository} --repository-format=docker"
                f" --location={place.location} --project={place.project}"
            )
            raise BundleError(f"there is no repository {place.path}; ask an admin to run: {make}") from error
        form, mode = found.get("format", "DOCKER"), found.get("mode", "STANDARD_REPOSITORY")
        if form != "DOCKER" or mode not in ("STANDARD_REPOSITORY", "MODE_UNSPECIFIED"):
            raise BundleError(
                f"{place.path} is a {mode} of {form}, which takes no images; use a standard repository of format DOCKER"
            )

    def login(self) -> Login:
        """Return the login of the account that google-auth uses."""
        return {"username": "oauth2accesstoken", "password": self.token()}

    def has(self, place: ImagePlace, digest: str) -> bool:
        """True if the image of this digest is there."""
        method = "artifactregistry.projects.locations.repositories.dockerImages.get"
        try:
            self.google.call(method, name=f"{place.path}/dockerImages/{_quoted(place.image)}@sha256:{digest}")
        except ResourceNotFound:
            return False
        return True

    def digest(self, name: str, tag: str) -> str:
        """Return the digest that a tag names now, in hexadecimal. Raises `BundleError` if it names nothing."""
        place = must_place(name)
        tagged = f"{place.path}/packages/{_quoted(place.image)}/tags/{tag}"
        try:
            found = self.google.call("artifactregistry.projects.locations.repositories.packages.tags.get", name=tagged)
        except ResourceNotFound as error:
            raise BundleError(
                f"there is no {name}:{tag}; check the name and the tag, or leave skip_bundle out"
            ) from error
        return str(found.get("version", "")).rpartition("/versions/sha256:")[2]


def _quoted(path: str) -> str:
    """Quote a path, so that it is one part of a name in the API."""
    return path.replace("/", "%2F")
