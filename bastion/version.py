"""The version of this code. Pure."""

VERSION = "0.1.0"
